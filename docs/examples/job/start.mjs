/**
 * A job of 10,000 requests with progress: reviews are judged by the bundled sentiment model, and each result is a line of a file.
 * What was judged before is not judged again: after Ctrl-C, or a crash, the same command goes on where it was.
 *
 *   node docs/examples/job/start.mjs [RESULTS] [URL]
 *
 * Without a URL it starts a server of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, MillraceError } from '@millrace/client';
import { reviews } from './reviews.mjs';

const [results = 'results.jsonl', given] = process.argv.slice(2);
const count = 10_000;
/** Named, so that all results are of one version: without it another may answer while this one is loaded. */
const version = '2';
/** Requests under way at once: enough to fill batches, and few enough to stay in the server's queue. */
const concurrency = 64;

const server = given === undefined ? await startServer() : undefined;
const client = createClient(given ?? server.url);

const lines = existsSync(results) ? readFileSync(results, 'utf8').split('\n') : [''];
// A line that was cut off by a crash has no end: it is judged again, and begun on a line of its own.
const isCut = lines.pop() !== '';
const done = new Set(lines.filter(Boolean).map((line) => takeId(line)));
const file = createWriteStream(results, { flags: 'a' });
if (isCut) file.write('\n');

const began = performance.now();
let finished = 0;
let shown = 0;
const left = [...reviews(count)].filter(({ id }) => !done.has(id));
console.log(`${count} reviews, ${count - left.length} judged before`);

const next = left.values();
await Promise.all(
  Array.from({ length: concurrency }, async () => {
    for (const { id, text } of next) {
      const line = JSON.stringify({ id, text, label: await judge(text) });
      if (!file.write(`${line}\n`)) await once(file, 'drain');
      finished += 1;
      showProgress();
    }
  }),
);
file.end();
await once(file, 'finish');
client.close();
console.log(`done: ${results} has ${count} results`);
if (server !== undefined) await server.stop();

/** The client tries a call a few times. A job has more patience than a call: it waits until the model is served again. */
async function judge(text) {
  for (;;) {
    try {
      const { outputs } = await client.infer('sentiment', { text }, { version });
      return outputs.label.texts[0];
    } catch (error) {
      if (!(error instanceof MillraceError) || error.retry === 'never') throw error;
      while (!(await client.isModelReady('sentiment', { version }).catch(() => false))) await pause(500);
    }
  }
}

/** At every hundredth part. */
function showProgress() {
  const percent = Math.floor((100 * (count - left.length + finished)) / count);
  if (percent === shown) return;
  shown = percent;
  const rate = (1000 * finished) / (performance.now() - began);
  const seconds = Math.ceil((left.length - finished) / rate);
  const bar = '█'.repeat(percent / 4).padEnd(25, '░');
  const text = `${bar} ${percent} %  ${Math.round(rate)} a second, ${seconds} s left`;
  if (process.stdout.isTTY) process.stdout.write(`\r${text.padEnd(70)}${percent === 100 ? '\n' : ''}`);
  else if (percent % 10 === 0) console.log(text);
}

function takeId(line) {
  try {
    return JSON.parse(line).id;
  } catch {
    return undefined;
  }
}

async function startServer() {
  const root = join(import.meta.dirname, '../../..');
  const models = ['sentiment', 'sentiment_tensors'].flatMap((model) => ['--load-model', model]);
  const child = spawn(
    process.execPath,
    [
      join(root, 'packages/millrace/bin/millrace.js'),
      ...['serve', join(root, 'models'), '--model-control-mode', 'explicit', ...models],
      ...['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0', '--log-format', 'json'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exit = once(child, 'exit');
  process.once('SIGINT', () => process.exit(130));
  process.once('exit', () => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const { message, httpUrl, pid } = JSON.parse(line);
    if (message !== 'listening') continue;
    console.log(`the server listens on ${httpUrl}; to kill it during the job: kill -9 ${pid}`);
    child.stdout.resume();
    const stop = async () => {
      child.kill();
      await exit;
    };
    return { url: httpUrl, stop };
  }
  throw new Error('the server ended before it listened');
}
