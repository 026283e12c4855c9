/**
 * Opens a real Chromium on a page of one origin and has it call servers of another through Connect-ES.
 * Usage: node run.mjs MODULES BUNDLE API_URL: the folder of libraries, the page's script, a server that allows the origin it is told.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const [modules, bundle] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, 'package.json'))('playwright-core');
const root = fileURLToPath(new URL('../../../', import.meta.url));
const children = [];

function start(command, environment = {}) {
  const child = spawn(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  });
  children.push(child);
  return createInterface({ input: child.stdout });
}

const page = createServer((request, response) => {
  const isScript = request.url === '/page.js';
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(
    isScript ? readFileSync(bundle) : '<!doctype html><title>checks</title><script src="/page.js"></script>',
  );
}).listen(0, '127.0.0.1');
await once(page, 'listening');
const origin = `http://127.0.0.1:${page.address().port}`;

const api = start([
  'packages/millrace/bin/millrace.js',
  'serve',
  'tests/models',
  ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0', '--cors-origins', origin],
]);
let apiUrl;
for await (const line of api) {
  apiUrl = JSON.parse(line).httpUrl;
  if (apiUrl !== undefined) break;
}
const echo = start(['tests/dist/interop/echo-service/server.js'], { ECHO_CORS_ORIGIN: origin });
const [port] = await once(echo, 'line');
while ((await fetch(`${apiUrl}/v2/health/ready`)).status !== 200)
  await new Promise((resolve) => setTimeout(resolve, 50));

const profile = mkdtempSync(path.join(tmpdir(), 'chromium-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
let failed = 1;
try {
  const tab = await context.newPage();
  await tab.goto(origin);
  const { total, failures } = await tab.evaluate(
    ([one, other]) => globalThis.runChecks(one, other),
    [apiUrl, `http://127.0.0.1:${port}`],
  );
  for (const failure of failures) console.log(`FAILED ${failure}`);
  failed = failures.length;
  console.log(`${total - failed} passed, ${failed} failed`);
} finally {
  await context.close();
  page.close();
  for (const child of children) child.kill('SIGTERM');
  rmSync(profile, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;
