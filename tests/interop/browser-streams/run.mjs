/**
 * Opens a real Chromium on a page of another origin, disturbs its streams, and compares their outputs with an undisturbed run.
 * Usage: node run.mjs MODULES BUNDLE: the folder of libraries, the page's script.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ModelRepository } from '@millrace/worker/testing';
import { runningTotal, writeRunningTotal } from '../../dist/support/running-total.js';

const [modules, bundle] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, 'package.json'))('playwright-core');
const root = fileURLToPath(new URL('../../../', import.meta.url));
const models = writeRunningTotal(new ModelRepository());

const page = createServer((request, response) => {
  const isScript = request.url === '/page.js';
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
  response.end(
    isScript ? readFileSync(bundle) : '<!doctype html><title>streams</title><script src="/page.js"></script>',
  );
}).listen(0, '127.0.0.1');
await once(page, 'listening');
const origin = `http://127.0.0.1:${page.address().port}`;

const api = spawn(
  process.execPath,
  [
    'packages/millrace/bin/millrace.js',
    ...['serve', models.path, '--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
    ...['--cors-origins', origin, '--log-format', 'json', '--log-level', 'debug'],
  ],
  { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
);
const records = [];
const lines = createInterface({ input: api.stdout });
lines.on('line', (line) => records.push(JSON.parse(line)));

/** The last record with this message. */
const lastRecord = (message) => records.findLast((record) => record.message === message);

async function logged(isSo) {
  while (!isSo()) await once(lines, 'line');
}
await logged(() => lastRecord('listening') !== undefined && lastRecord('worker ready') !== undefined);
const { httpUrl } = lastRecord('listening');

// The link between browser and server: it can be cut.
const cables = new Set();
const link = createTcpServer((near) => {
  const { hostname, port } = new URL(httpUrl);
  const far = connect(Number(port), hostname);
  cables.add(near).add(far);
  near.pipe(far).pipe(near);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ]) {
    one.on('error', () => {});
    one.once('close', () => {
      cables.delete(one);
      other.destroy();
    });
  }
}).listen(0, '127.0.0.1');
await once(link, 'listening');
const apiUrl = `http://127.0.0.1:${link.address().port}`;

async function killWorker() {
  const { pid } = lastRecord('worker ready');
  process.kill(pid, 'SIGKILL');
  await logged(() => lastRecord('worker ready').pid !== pid);
}

function cutLink() {
  for (const cable of cables) cable.destroy();
}

async function killRouter() {
  const { pid } = lastRecord('listening');
  process.kill(pid, 'SIGKILL');
  await logged(() => lastRecord('listening').pid !== pid);
}

/** What happens after so many outputs. */
const disturbances = [
  [3, killWorker],
  [6, cutLink],
  [9, killRouter],
];
const inputs = 12;

const profile = mkdtempSync(path.join(tmpdir(), 'chromium-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
});
const failures = [];
let passed = 0;
let skipped = 0;
try {
  const tab = await context.newPage();
  await tab.goto(origin);
  const call = (name, ...given) =>
    tab.evaluate(([method, values]) => globalThis.browserStreams[method](...values), [name, given]);
  const transports = await tab.evaluate(() => globalThis.browserStreams.transports);
  const hasWebSocket = await call('hasWebSocket', apiUrl);
  for (const transport of transports) {
    if (transport === 'WebSocket' && !hasWebSocket) {
      console.log('SKIPPED WebSocket: the server does not speak it');
      skipped += 1;
      continue;
    }
    try {
      await call('begin', apiUrl, runningTotal, transport);
      await call('sendTo', transport, inputs, true);
      const undisturbed = await call('resultOf', transport);
      await call('begin', apiUrl, runningTotal, transport);
      for (const [outputs, disturb] of disturbances) {
        await call('sendTo', transport, outputs, false);
        await disturb();
      }
      await call('sendTo', transport, inputs, true);
      const disturbed = await call('resultOf', transport);
      const told = JSON.stringify({ undisturbed, disturbed });
      if (undisturbed.values.length !== inputs || undisturbed.outcome !== 'done') throw new Error(told);
      if (disturbed.connections < 3) throw new Error(`the connection was never lost: ${told}`);
      const [one, other] = [undisturbed, disturbed].map(({ values, outcome }) => JSON.stringify([values, outcome]));
      if (one !== other) throw new Error(`outputs differ: ${told}`);
      console.log(`${transport}: ${inputs} equal outputs over ${disturbed.connections} connections`);
      passed += 1;
    } catch (error) {
      failures.push(`${transport}: ${error}`);
    }
  }
} finally {
  await context.close();
  page.close();
  link.close();
  cutLink();
  api.kill('SIGTERM');
  await once(api, 'exit');
  models.remove();
  rmSync(profile, { recursive: true, force: true });
}
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${passed} passed, ${failures.length} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
process.exitCode = failures.length === 0 && passed > 0 ? 0 : 1;
