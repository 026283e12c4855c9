/**
 * The client in a real browser: its contract, and what disturbs streams. Usage: node run.mjs MODULES BROWSER, the folder of
 * libraries and `chromium` or `firefox`.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { build } from 'esbuild';
import { ChaosProxy } from 'millrace/internal';
import { cancelledStreams, writeClientModels } from '../../dist/contracts/client/contract-models.js';
import { undisturbedTotals } from '../../dist/contracts/client/disturbed-stream.js';
import { ServerProcess } from '../../dist/support/server-process.js';
import { checkExamples } from './examples.mjs';
import { openFront } from './front.mjs';
import { unhandledIn } from './started-example.mjs';

const [modules, browserName = 'chromium'] = process.argv.slice(2);
const playwright = createRequire(path.join(modules, 'package.json'))('playwright-core');
const folder = import.meta.dirname;
const root = path.join(folder, '../../..');

const bundle = await build({
  entryPoints: [path.join(folder, 'page.ts')],
  bundle: true,
  format: 'iife',
  platform: 'browser',
  alias: { vitest: path.join(folder, 'page-tests.ts') },
  write: false,
  logLevel: 'warning',
});
const files = {
  '/page.html': {
    type: 'text/html; charset=utf-8',
    content: '<!doctype html><title>client</title><script src="/page.js"></script>',
  },
  '/page.js': { type: 'text/javascript; charset=utf-8', content: bundle.outputFiles[0].text },
};

// The page of docs/clients.md, with the packages beside it as npm lays them out. Where its server is follows.
const [, snippet] = /```html\n(.*?)```/s.exec(readFileSync(path.join(root, 'docs/clients.md'), 'utf8'));
for (const name of ['client', 'protocol']) {
  const dist = path.join(root, 'packages', name, 'dist');
  for (const file of readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.js'))) {
    const content = readFileSync(path.join(dist, file), 'utf8');
    files[`/node_modules/@millrace/${name}/dist/${file}`] = { type: 'text/javascript; charset=utf-8', content };
  }
}

const repository = new ModelRepository();
await writeClientModels(repository);
for (const model of ['sentiment', 'sentiment_tensors']) {
  cpSync(path.join(root, 'models', model), path.join(repository.path, model), { recursive: true });
}
const listed = await openFront(files);
const server = await ServerProcess.start([repository.path, '--cors-origins', listed.url]);
const { hostname: host, port } = new URL(server.url);
const link = await ChaosProxy.open({ target: { host, port: Number(port) }, random: () => 0.5 });
const own = await openFront(files, link.address);
const linkUrl = `http://${link.address.host}:${link.address.port}`;
files['/snippet.html'] = {
  type: 'text/html; charset=utf-8',
  content: snippet.replaceAll('http://localhost:8000', linkUrl),
};

const disturbances = {
  'kill-worker': () =>
    process.kill(server.records.findLast(({ message }) => message === 'worker ready').pid, 'SIGKILL'),
  cut: () => link.apply({ kind: 'cut' }),
  reset: () => link.apply({ kind: 'reset' }),
  'kill-router': () => process.kill(server.routerPid, 'SIGKILL'),
};

const browser = await (browserName === 'firefox'
  ? playwright.firefox.launch({ channel: 'moz-firefox', executablePath: process.env.FIREFOX ?? '/usr/bin/firefox-esr' })
  : playwright.chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
        // A microphone that hears this recording, over and over.
        ...['--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream'],
        `--use-file-for-fake-audio-capture=${path.join(root, 'zoo/samples/commands.wav')}`,
      ],
    }));
console.log(`${browserName} ${browser.version()}`);
const context = await browser.newContext();
// Only a bound: a busy machine takes long to replace a killed server.
context.setDefaultTimeout(120_000);
await context.exposeFunction('disturb', (fault) => void disturbances[fault]());
await context.exposeFunction('cancelledStreams', () => cancelledStreams(server));

async function openTab(origin) {
  const tab = await context.newPage();
  await tab.goto(`${origin}/page.html`);
  const call = (name, ...given) =>
    tab.evaluate(([method, values]) => globalThis.page[method](...values), [name, given]);
  return { tab, call };
}

let passed = 0;
const failures = [];

async function check(title, run) {
  try {
    const told = await run();
    passed += 1;
    console.log(`ok ${title}${told === undefined ? '' : `: ${told}`}`);
  } catch (error) {
    failures.push(title);
    console.log(`FAILED ${title}\n${error.stack}`);
  }
}

function mustEqual(actual, expected) {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}

const places = [
  { place: 'another origin', origin: listed.url, url: linkUrl, listsModels: false },
  { place: 'the same origin', origin: own.url, url: own.url, listsModels: true },
];
try {
  for (const { place, origin, url, listsModels } of places) {
    for (const transport of ['WebSocket', 'events', 'Connect', 'gRPC-Web']) {
      const where = `${transport}, ${place}`;
      const { tab, call } = await openTab(origin);
      for (const { title, error, tookMs } of await call('contract', url, transport, listsModels)) {
        await check(`${place}: ${title}`, () => {
          if (error !== '') throw new Error(error);
          return `${tookMs} ms`;
        });
      }
      await check(`${where}: a stream goes on through the death of a worker, a link and a router`, async () => {
        const { totals, gaps, gapsMs } = await call('disturbed', url, transport);
        mustEqual(totals, undisturbedTotals);
        if (gaps.length < 3) throw new Error(`the connection was not lost: ${JSON.stringify(gaps)}`);
        mustEqual([...new Set(gaps)], ['unreachable']);
        if (gapsMs.length !== gaps.length) throw new Error(`${gapsMs.length} resumes after ${gaps.length} gaps`);
        await server.whenReady();
        return `${gaps.length} gaps of ${gapsMs.map((ms) => Math.round(ms)).join(', ')} ms`;
      });
      await check(`${where}: a page goes on after a reload, with every output once`, async () => {
        await call('read', url, transport, 6, false, 4);
        await tab.reload();
        await call('read', url, transport, 12, true, 12);
        mustEqual(await call('readAll'), undisturbedTotals.slice(0, 12));
      });
      await check(`${where}: of two tabs the later one has the stream, and the earlier one stays away`, async () => {
        const later = await openTab(origin);
        const position = await call('tab', url, transport, undefined, 1);
        await later.call('tab', url, transport, position, 2);
        mustEqual(await call('tabEnd'), { outcome: 'stream-superseded', connections: 1, seen: [1] });
        await later.call('tabLast', 3);
        mustEqual(await later.call('tabEnd'), { outcome: 'done', connections: 1, seen: [3, 6] });
        await later.tab.close();
      });
      await check(`${where}: no failure is left that nobody handles`, async () => {
        mustEqual(await call('unhandled'), []);
      });
      await tab.close();
    }
    await check(`${place}: a page that chooses nothing gets WebSocket, and with header fields Connect`, async () => {
      const { tab, call } = await openTab(origin);
      mustEqual(await call('chosen', url, undefined), { totals: [3], sockets: 1, isConnect: false, isReady: true });
      const headers = { authorization: 'Bearer token', 'x-request-id': 'one' };
      mustEqual(await call('chosen', url, headers), { totals: [3], sockets: 0, isConnect: true, isReady: true });
      await tab.close();
    });
  }
  await check('a page that is not listed is refused, and told what may be the reason', async () => {
    const { tab, call } = await openTab(own.url);
    const told = await call('failure', linkUrl, 'events');
    if (!told.startsWith('unreachable: ') || !told.includes('http.corsOrigins')) throw new Error(told);
    await tab.close();
  });
  await check('the page of docs/clients.md works without a bundler', async () => {
    const tab = await context.newPage();
    const errors = await unhandledIn(tab);
    await tab.goto(`${listed.url}/snippet.html`);
    const judge = async (review) => {
      await tab.locator('input').fill(review);
      await tab.locator('output').evaluate((output) => (output.value = ''));
      await tab.locator('button').click();
      await tab.waitForFunction(() => document.querySelector('output').value !== '');
      return await tab.locator('output').evaluate(({ value }) => value);
    };
    mustEqual([await judge('What a lovely film!'), await judge('What a terrible film!')], ['positive', 'negative']);
    mustEqual(errors, []);
    await tab.close();
  });
  // Only Chromium can be given a recording for a microphone; and on a machine without a sound card Firefox plays and records nothing.
  if (browserName === 'chromium') {
    await check('sound of a MediaStream comes as chunks at the rate of the model', async () => {
      const { tab, call } = await openTab(own.url);
      // Browsers let a page sound, and listen to itself, after a click.
      await tab.locator('html').click();
      const { good, dropped, ended } = await call('tone', 25);
      mustEqual({ good, dropped, ended }, { good: 25, dropped: 0, ended: true });
      mustEqual(await call('unhandled'), []);
      await tab.close();
    });
    await check('a microphone is switched off when its chunks are no longer iterated over', async () => {
      const { tab, call } = await openTab(own.url);
      await tab.locator('html').click();
      const silent = 'TypeError: the MediaStream has no sound: it has no audio track';
      mustEqual(await call('microphone', 10), { states: ['live', 'ended'], silent });
      await tab.close();
    });
  }
  await checkExamples({ check, mustEqual, context, browserName });
} finally {
  await browser.close();
  for (const one of [own, listed, link]) await one.close();
  await server.stop();
  repository.remove();
}
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 && passed > 0 ? 0 : 1;
