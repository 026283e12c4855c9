import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { threadTimes, timeUsed } from './thread-time.ts';

test('threads that begin count whole, and one that ends makes the sum incomplete', () => {
  const before = new Map([
    ['1/1', 5_000_000],
    ['1/2', 1_000_000],
  ]);
  const begun = new Map([...before, ['1/1', 7_000_000], ['1/3', 500_000]] as [string, number][]);
  expect(timeUsed(before, begun)).toEqual({ ms: 2.5, isIncomplete: false });
  begun.delete('1/2');
  expect(timeUsed(before, begun)).toEqual({ ms: 2.5, isIncomplete: true });
});

test.runIf(process.platform === 'linux')('the time of a thread that worked and now waits is counted', async () => {
  const before = threadTimes(process.pid);
  const program = `
    const { parentPort } = require('node:worker_threads');
    const begin = process.cpuUsage();
    const used = () => { const { user, system } = process.cpuUsage(begin); return user + system; };
    while (used() < 50_000);
    parentPort.postMessage(0);
    parentPort.on('message', () => {});`;
  const worker = new Worker(program, { eval: true });
  await new Promise((resolve) => worker.once('message', resolve));
  const { ms } = timeUsed(before, threadTimes(process.pid));
  await worker.terminate();
  // The reading thread itself is counted up to its last switch or tick.
  expect(ms).toBeGreaterThan(40);
});
