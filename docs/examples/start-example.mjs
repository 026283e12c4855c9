/** What the pages here have in common: a web server for the page, and a Millrace for its models, which lists the page's origin. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = join(import.meta.dirname, '../..');
const folderOf = (name) => dirname(fileURLToPath(import.meta.resolve(name)));
const types = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.jpg': 'image/jpeg',
};

/**
 * Starts both, and prints where the page is. `folder` has the page, `models` are loaded, `files` are further folders by the
 * beginning of their paths, and `hint` is printed with the address of the server. Ports are the arguments of the command; 0: any.
 */
export async function startExample({ folder, models, files = {}, hint = '' }) {
  const [pagePort = '8080', serverPort = '8000'] = process.argv.slice(2);
  let serverUrl = '';
  const folders = {
    ...files,
    // As they are in their packages: pages need no bundler.
    '/modules/client/': folderOf('@millrace/client'),
    '/modules/protocol/': folderOf('@millrace/protocol'),
    '/shared/': import.meta.dirname,
    '/': folder,
  };
  const page = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://page').pathname).replace(/\/$/, '/index.html');
    if (path === '/server.json') {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ url: serverUrl, model: models[0] }));
      return;
    }
    const [start, from] = Object.entries(folders).find(([beginning]) => path.startsWith(beginning));
    const type = types[extname(path)];
    const content = type && (await readFile(join(from, path.slice(start.length))).catch(() => undefined));
    if (content === undefined) response.writeHead(404).end('not found');
    else response.setHeader('content-type', type).end(content);
  }).listen(Number(pagePort), '127.0.0.1');
  await once(page, 'listening');
  const origin = `http://127.0.0.1:${page.address().port}`;

  const server = spawn(
    process.execPath,
    [
      join(root, 'packages/millrace/bin/millrace.js'),
      ...['serve', join(root, 'models'), '--model-control-mode', 'explicit'],
      ...models.flatMap((model) => ['--load-model', model]),
      ...['--http-port', serverPort, '--grpc-port', '0', '--metrics-port', '0', '--cors-origins', origin],
      ...['--log-format', 'json'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal));
  server.once('exit', (code) => process.exit(code ?? 1));
  createInterface({ input: server.stdout }).on('line', (line) => {
    const record = JSON.parse(line);
    if (record.message === 'listening') {
      serverUrl = record.httpUrl;
      console.log(`the server listens on ${serverUrl}; ${hint}kill -9 ${record.pid}`);
      console.log(`open ${origin}`);
    } else if (record.message === 'model ready' || record.level === 'error') {
      console.log(record.message, record.model ?? '');
    }
  });
}
