/** `node tests/dist/chaos/main.js [--seconds 60] [--connections 64]`: a worker is killed every second under load. Prints a verdict. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { loadWhile } from './kill-workers.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, connections: { type: 'string', default: '64' } },
});
const seconds = Number(values.seconds);
const server = await ServerProcess.start([join(repositoryRoot, 'tests/models'), '--id', 'chaos']);
const samples: number[] = [];
let kills = 0;
const killer = setInterval(() => {
  samples.push(server.residentBytes());
  const victim = server.workerPids('shared/1').at(-1);
  if (victim === undefined) return;
  try {
    process.kill(victim, 'SIGKILL');
    kills += 1;
  } catch {
    // The last one is dead and the next not ready yet.
  }
}, 1000);
const end = performance.now() + seconds * 1000;
const report = await loadWhile(server, {
  connections: Number(values.connections),
  afterAnswer: () => (performance.now() < end ? 'go-on' : 'stop'),
});
clearInterval(killer);
const code = await server.stop();
const mebibytes = samples.map((bytes) => Math.round(bytes / 2 ** 20));
const settled = mebibytes.slice(Math.floor(mebibytes.length / 4));
const growth = (settled.at(-1) ?? 0) / (settled[0] ?? 1);
for (const failure of report.failures) console.log(failure);
console.log(`${report.sent} requests, ${report.answered} answered rightly, ${kills} workers killed, exit code ${code}`);
console.log(
  `resident MiB, second by second: ${mebibytes.join(' ')}; growth over the last three quarters ${growth.toFixed(2)}x`,
);
const isGood =
  report.failures.length === 0 && report.sent === report.answered && code === 0 && growth < 1.25 && kills > 0;
console.log(isGood ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exitCode = isGood ? 0 : 1;
