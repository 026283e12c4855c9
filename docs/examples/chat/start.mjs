/**
 * A chat page in the browser, on a server of its own. Serves the page and starts Millrace with the bundled storyteller:
 *
 *   node docs/examples/chat/start.mjs [PAGE_PORT] [SERVER_PORT]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [pagePort = '8080', serverPort = '8000'] = process.argv.slice(2);
const model = 'storyteller';
const folderOf = (name) => dirname(fileURLToPath(import.meta.resolve(name)));
const root = join(import.meta.dirname, '../../..');
/** Folders by the beginning of a path. The client is served as it is in its package. */
const folders = {
  '/modules/client/': folderOf('@millrace/client'),
  '/modules/protocol/': folderOf('@millrace/protocol'),
  '/': import.meta.dirname,
};
const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript' };
let serverUrl = '';

const page = createServer(async (request, response) => {
  const path = normalize(new URL(request.url, 'http://page').pathname).replace(/\/$/, '/index.html');
  if (path === '/server.json') {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ url: serverUrl, model }));
    return;
  }
  const [start, folder] = Object.entries(folders).find(([beginning]) => path.startsWith(beginning));
  const type = types[extname(path)];
  const content = type && (await readFile(join(folder, path.slice(start.length))).catch(() => undefined));
  if (content === undefined) response.writeHead(404).end('not found');
  else response.setHeader('content-type', `${type}; charset=utf-8`).end(content);
}).listen(Number(pagePort), '127.0.0.1');
await once(page, 'listening');
const origin = `http://127.0.0.1:${page.address().port}`;

const server = spawn(
  process.execPath,
  [
    join(root, 'packages/millrace/bin/millrace.js'),
    ...['serve', join(root, 'models'), '--model-control-mode', 'explicit', '--load-model', model],
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
    console.log(`the server listens on ${serverUrl}; to kill it in the middle of a story: kill -9 ${record.pid}`);
  } else if (record.message === 'model ready' || record.level === 'error')
    console.log(record.message, record.model ?? '');
  if (record.message === 'listening') console.log(`open ${origin}`);
});
