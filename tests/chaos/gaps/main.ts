/**
 * `node tests/dist/chaos/gaps/main.js [--rounds 20] [--spares 0] [--failures worker,link,router]`: how long one stream stands
 * still when its worker, its connection or the router is killed, with nothing else on the server. Prints a histogram for each.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { nearestRank } from '../../attacks/quantile.ts';
import { eventually } from '../../support/eventually.ts';
import { isAlive } from '../../support/is-alive.ts';
import { repositoryRoot } from '../../support/repository-root.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { SteadyStream } from './steady-stream.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    spares: { type: 'string', default: '0' },
    failures: { type: 'string', default: 'worker,link,router' },
  },
});
const model = 'listener_tensors';
const bucketsMs = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
/** A busy machine takes its time for each start of a process. */
const recoveryMsMax = 120_000;
const restMs = 300;

const source = join(repositoryRoot, 'models', model);
const config = await readFile(join(source, 'config.pbtxt'), 'utf8');
const spare =
  values.spares === '0' ? '' : `parameters { key: "millrace.warm_spare" value { string_value: "${values.spares}" } }\n`;
const repository = new ModelRepository().copy(source).write(`${model}/config.pbtxt`, `${config}${spare}`);
const folder = mkdtempSync(join(tmpdir(), 'millrace-gaps-'));
const server = await ServerProcess.start([repository.path], { environment: { TMPDIR: folder } });
process.once('exit', () => {
  server.child.kill('SIGKILL');
  repository.remove();
  rmSync(folder, { recursive: true, force: true });
});
const stream = new SteadyStream(server.grpcUrl.replace(/^http:\/\//, ''), model);

/** Kills the worker that has served for longest: a spare is younger. The gap is the longest pause until another is loaded. */
async function killWorker(): Promise<number> {
  const workers = () =>
    server.records.filter(({ message, pid }) => message === 'worker ready' && isAlive(pid as number));
  const before = workers().length;
  const [oldest] = workers();
  stream.beginPause();
  process.kill(oldest?.pid as number, 'SIGKILL');
  await eventually('the worker is gone', () => workers().length < before, recoveryMsMax);
  await eventually('another is ready', () => workers().length === before, recoveryMsMax);
  await stream.outputAfter();
  return stream.longestPauseMs;
}

/** From the end of the connection to `opened` on the next one, without the client's own pause. */
async function cutLink(): Promise<number> {
  const cutAt = performance.now();
  stream.cut();
  await stream.outputAfter();
  return stream.openedAt - cutAt - stream.backoffMs;
}

/** From the log message that the model is ready to the first output. */
async function killRouter(): Promise<number> {
  const [pid, seen] = [server.routerPid, server.records.length];
  process.kill(pid, 'SIGKILL');
  await eventually('another router listens', () => server.routerPid !== pid, recoveryMsMax);
  const outputAt = performance.timeOrigin + (await stream.outputAfter());
  const ready = () => server.records.slice(seen).find((one) => one.message === 'model ready' && one.model === model);
  await eventually('the model is ready', () => ready() !== undefined, recoveryMsMax);
  return Math.max(0, outputAt - Date.parse(ready()?.time as string));
}

const failures = { worker: killWorker, link: cutLink, router: killRouter } as const;

for (const [name, fail] of Object.entries(failures)) {
  if (!values.failures.split(',').includes(name)) continue;
  const gaps: number[] = [];
  while (gaps.length < Number(values.rounds)) {
    await stream.outputAfter();
    await new Promise((resolve) => setTimeout(resolve, restMs));
    gaps.push(await fail());
  }
  const [median, high, most] = [0.5, 0.99, 1].map((fraction) => nearestRank(gaps, fraction).toFixed(0));
  console.log(`${name}: ${gaps.length} gaps, p50 / p99 / max ${median} / ${high} / ${most} ms`);
  console.log(`  ${histogramOf(gaps)}`);
}
stream.close();
process.exit((await server.stop()) ?? 1);

function histogramOf(gaps: readonly number[]): string {
  const parts: string[] = [];
  let below = 0;
  for (const limit of [...bucketsMs, Number.POSITIVE_INFINITY]) {
    const count = gaps.filter((gap) => gap <= limit).length;
    if (count > below) parts.push(`${limit === Number.POSITIVE_INFINITY ? 'above' : `<=${limit}`}: ${count - below}`);
    below = count;
  }
  return parts.join('  ');
}
