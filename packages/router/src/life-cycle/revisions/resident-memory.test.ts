import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { RunningModels } from '../../dispatch/worker-group.ts';
import type { ContextPlan } from './context-plan.ts';
import { measuredOnce, measuredSeldom, measureProcess, measureProcesses, residentBytesOf } from './resident-memory.ts';
import { Revision } from './revision.ts';

function revisionOn(lane: 'local' | 'inline'): Revision {
  const plan: ContextPlan = {
    name: 'm:1',
    lane,
    workers: 2,
    members: [],
    identity: '',
    fileBytes: 25,
    bytesExpected: 50,
  };
  return new Revision(1, plan, [], () => {});
}

function groupOf(...memory: readonly (readonly [pid: number | undefined, residentBytes: number])[]): RunningModels {
  const workers = memory.map(([pid, residentBytes]) => ({ pid, residentBytes, share: 1 }));
  return { memory: () => workers } as unknown as RunningModels;
}

const measured: Readonly<Record<number, number>> = { 1: 100, 2: 130 };
const measure = (pid: number): number | undefined => measured[pid];

test('all workers of a context count, as the system measures them now', () => {
  expect(residentBytesOf(revisionOn('local'), groupOf([1, 90], [2, 90]), measure)).toBe(230);
});

test('where the system does not report memory, the value that the worker reported counts', () => {
  expect(residentBytesOf(revisionOn('local'), groupOf([7, 90], [undefined, 80]), measure)).toBe(170);
});

test('a worker that has not loaded yet is assumed to be like the others', () => {
  expect(residentBytesOf(revisionOn('local'), groupOf([1, 90], [2, 0]), measure)).toBe(200);
});

test('inside the server the size of the files is used', () => {
  expect(residentBytesOf(revisionOn('inline'), groupOf([undefined, 1e9]), measure)).toBe(50);
});

test('this process is measured where there is a /proc, and a missing process gives undefined', () => {
  const own = measureProcess(process.pid);
  expect(own === undefined).toBe(!existsSync('/proc/self/statm'));
  expect(own ?? 1e7).toBeGreaterThan(1e6);
  expect(measureProcess(2 ** 30)).toBeUndefined();
});

test.runIf(existsSync('/proc/self/smaps_rollup'))('pages that other processes share count in part', () => {
  const residentBytes = Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[1]) * 4096;
  expect(measureProcess(process.pid)).toBeLessThan(residentBytes);
});

test('a process that many models share is measured once', () => {
  const asked: number[] = [];
  const once = measuredOnce((pid) => {
    asked.push(pid);
    return measure(pid);
  });
  expect([1, 2, 1, 7, 7].map(once)).toEqual([100, 130, 100, undefined, undefined]);
  expect(asked).toEqual([1, 2, 7]);
});

test('a process that is asked about often is measured ten times a second', () => {
  let now = 0;
  const measured: number[] = [];
  const measure = measuredSeldom(
    (pid) => {
      measured.push(pid);
      return pid * 10 + now;
    },
    () => now,
  );
  expect([measure(1), measure(2), measure(1)]).toEqual([10, 20, 10]);
  now = 99;
  expect(measure(1)).toBe(10);
  now = 100;
  expect([measure(1), measure(1)]).toEqual([110, 110]);
  expect(measured).toEqual([1, 2, 1]);
});

test.runIf(existsSync('/proc/self/smaps_rollup'))(
  'processes measured aside are not measured again, others and those that have ended are no error',
  async () => {
    const nobody = 2 ** 22 + 1;
    const measure = await measureProcesses([process.pid, nobody]);
    const before = measure(process.pid) as number;
    expect(before / (measureProcess(process.pid) as number)).toBeCloseTo(1, 0);
    const more = Buffer.alloc(64 * 1024 * 1024, 1);
    expect(measure(process.pid)).toBe(before);
    expect(more[0]).toBe(1);
    expect(measure(nobody)).toBeUndefined();
    expect(measure(process.ppid)).toBeGreaterThan(0);
  },
);
