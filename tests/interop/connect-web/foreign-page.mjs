/**
 * Opens pages of foreign origins in a real Chromium and has them attack a server on loopback: blind posts, forms, frames,
 * images, WebSockets, a name that was made to point at the server (DNS rebinding), and a listed origin that wants to manage.
 * Usage: node foreign-page.mjs MODULES: the folder of libraries.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [modules] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, 'package.json'))('playwright-core');
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'foreign-page-'));
const marker = path.join(folder, 'code-ran');
mkdirSync(path.join(folder, 'models'));
cpSync(path.join(root, 'tests/models/mlp'), path.join(folder, 'models/mlp'), { recursive: true });

const pages = createServer((_, response) => {
  response.setHeader('content-type', 'text/html');
  response.end('<!doctype html><title>page</title><body></body>');
}).listen(0, '127.0.0.1');
await once(pages, 'listening');
const pagePort = pages.address().port;
const evil = `http://evil.example:${pagePort}`;
const listed = `http://listed.example:${pagePort}`;

const child = spawn(
  process.execPath,
  [
    'packages/millrace/bin/millrace.js',
    'serve',
    path.join(folder, 'models'),
    ...['--model-control-mode', 'explicit', '--load-model', 'mlp', '--cors-origins', listed],
    ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0', '--log-format', 'json'],
  ],
  { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
);
let urls;
for await (const line of createInterface({ input: child.stdout })) {
  urls = JSON.parse(line);
  if (urls.httpUrl !== undefined) break;
}
child.stdout.resume();
const ports = [urls.httpUrl, urls.grpcUrl, urls.metricsUrl].map((url) => new URL(url).port);
while ((await fetch(`${urls.httpUrl}/v2/health/ready`)).status !== 200)
  await new Promise((resolve) => setTimeout(resolve, 50));

const module = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(marker)}, 'ran'); export default {};`;
const body = JSON.stringify({
  parameters: { config: '{"backend":"pipeline"}', 'file:1/pipeline.mjs': Buffer.from(module).toString('base64') },
});
const load = `${urls.httpUrl}/v2/repository/models/evil/load`;
const unload = `${urls.httpUrl}/v2/repository/models/mlp/unload`;

const context = await chromium.launchPersistentContext(path.join(folder, 'profile'), {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: [
    ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
    '--host-resolver-rules=MAP *.example 127.0.0.1',
    // The server must not depend on what newer browsers keep from pages of the public network.
    '--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessChecks',
  ],
});

/** A tab on a page, with the statuses of what the server answered to it. */
async function open(url) {
  const tab = await context.newPage();
  const answers = [];
  tab.on('response', (response) => {
    if (ports.includes(new URL(response.url()).port))
      answers.push(`${response.status()} ${response.request().method()}`);
  });
  await tab.goto(url);
  return { tab, answers };
}

/** What a page does with fetch; what it learns of the outcome. */
const fetchIn = (tab, url, init) =>
  tab.evaluate(
    ([address, options]) =>
      fetch(address, options).then(
        async (answer) => `${answer.type} ${answer.status} ${await answer.text()}`,
        (error) => String(error),
      ),
    [url, init],
  );

function check(isRight, what) {
  if (!isRight) throw new Error(what);
}

const attacks = {
  'a blind post of text/plain': async () => {
    const { tab, answers } = await open(evil);
    for (const url of [load, unload]) await fetchIn(tab, url, { method: 'POST', mode: 'no-cors', body });
    await fetchIn(tab, unload, { method: 'POST', mode: 'no-cors' });
    check(answers.length === 3 && answers.every((one) => one.startsWith('403 ')), answers.join());
  },
  'a post of JSON': async () => {
    const { tab, answers } = await open(evil);
    const headers = { 'content-type': 'application/json' };
    const learned = await fetchIn(tab, load, { method: 'POST', headers, body });
    check(/TypeError/.test(learned), learned);
    check(!answers.some((one) => one.startsWith('2')), answers.join());
  },
  'a form in a frame': async () => {
    const { tab, answers } = await open(evil);
    const answered = tab.waitForResponse(load);
    await tab.evaluate(
      ([url, text]) => {
        const frame = Object.assign(document.createElement('iframe'), { name: 'target' });
        const form = Object.assign(document.createElement('form'), {
          method: 'POST',
          enctype: 'text/plain',
          action: url,
        });
        form.target = 'target';
        // The equals sign that the form puts in between is made part of a text of the JSON.
        const field = Object.assign(document.createElement('input'), {
          name: `${text.slice(0, -1)},"x":"`,
          value: '"}',
        });
        form.append(field);
        document.body.append(frame, form);
        form.submit();
      },
      [load, body],
    );
    await answered;
    check(answers.join() === '403 POST', answers.join());
  },
  'a frame without an origin': async () => {
    const { tab, answers } = await open(evil);
    // The tab does not see all that a frame in a process of its own does: the frame says when it is done.
    await tab.evaluate(
      ([url, text]) =>
        new Promise((resolve) => {
          const frame = document.createElement('iframe');
          frame.setAttribute('sandbox', 'allow-scripts');
          const init = `{ method: 'POST', mode: 'no-cors', body: ${JSON.stringify(text)} }`;
          const call = `fetch(${JSON.stringify(url)}, ${init}).finally(() => parent.postMessage('done', '*'))`;
          frame.srcdoc = `<script>${call}</script>`;
          addEventListener('message', resolve);
          document.body.append(frame);
        }),
      [load, body],
    );
    check(!answers.some((one) => one.startsWith('2')), answers.join());
  },
  'frames of every port': async () => {
    const { tab, answers } = await open(evil);
    for (const port of ports) {
      for (const target of ['/v2', '/metrics', '/v1/management/contexts']) {
        const url = `http://127.0.0.1:${port}${target}`;
        const answered = tab.waitForResponse(url);
        await tab.evaluate((address) => {
          document.body.append(Object.assign(document.createElement('iframe'), { src: address }));
        }, url);
        await answered;
      }
    }
    check(answers.length === 9 && answers.every((one) => one === '403 GET'), answers.join());
  },
  'a WebSocket': async () => {
    const { tab } = await open(evil);
    const end = await tab.evaluate(
      (url) =>
        new Promise((resolve) => {
          const socket = new WebSocket(url);
          socket.onopen = () => resolve('open');
          socket.onerror = () => resolve('refused');
        }),
      urls.httpUrl.replace('http', 'ws'),
    );
    check(end === 'refused', end);
  },
  'a name that was made to point here': async () => {
    for (const port of ports) {
      const origin = `http://rebound.example:${port}`;
      const tab = await context.newPage();
      // What the attacker served before the name pointed here; all that follows comes from the server itself.
      await tab.route(`${origin}/page`, (route) =>
        route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>rebound</title>' }),
      );
      await tab.goto(`${origin}/page`);
      const json = { 'content-type': 'application/json' };
      for (const target of ['/v2/repository/models/evil/load', '/v2/repository/models/mlp/unload', '/metrics']) {
        const learned = await fetchIn(tab, target, { method: 'POST', headers: json, body });
        check(/^basic 403 .*server\.allowedHosts/.test(learned), `${port}${target}: ${learned}`);
      }
      const read = await fetchIn(tab, '/v1/management/contexts', {});
      check(/^basic 403 /.test(read), read);
    }
  },
  'a listed origin that wants to manage': async () => {
    const { tab, answers } = await open(listed);
    const headers = { 'content-type': 'application/json' };
    const service = `${urls.httpUrl}/inference.GRPCInferenceService`;
    const infer = await fetchIn(tab, `${service}/ModelReady`, { method: 'POST', headers, body: '{"name":"mlp"}' });
    check(infer === 'cors 200 {"ready":true}', infer);
    answers.length = 0;
    for (const url of [
      load,
      unload,
      `${service}/RepositoryIndex`,
      `${urls.httpUrl}/millrace.v1.Management/ListContexts`,
    ]) {
      const learned = await fetchIn(tab, url, { method: 'POST', headers, body });
      check(/TypeError/.test(learned), learned);
      await fetchIn(tab, url, { method: 'POST', mode: 'no-cors', body });
    }
    check(!answers.some((one) => one.startsWith('2')), answers.join());
  },
  'a link that somebody follows is served': async () => {
    const { tab, answers } = await open(evil);
    await tab.evaluate((url) => {
      const link = Object.assign(document.createElement('a'), { href: url, textContent: 'the server' });
      document.body.append(link);
    }, `${urls.httpUrl}/v2`);
    await Promise.all([tab.waitForURL(`${urls.httpUrl}/v2`), tab.click('a')]);
    check(answers.join() === '200 GET', answers.join());
    const learned = await fetchIn(tab, '/v2/health/ready', {});
    check(learned.startsWith('basic 200'), `a page of its own origin: ${learned}`);
  },
};

const failures = [];
try {
  for (const [name, attack] of Object.entries(attacks)) {
    await attack().catch((error) => failures.push(`${name}: ${error.message}`));
  }
  const index = await (await fetch(`${urls.httpUrl}/v2/repository/index`, { method: 'POST' })).json();
  const states = index.map(({ name, state }) => `${name} ${state}`).join();
  if (states !== 'mlp READY') failures.push(`the server has ${states}`);
  if (existsSync(marker)) failures.push('code of a page was run');
} finally {
  await context.close();
  pages.close();
  child.kill('SIGTERM');
  await once(child, 'exit');
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${Object.keys(attacks).length} attempts, ${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
