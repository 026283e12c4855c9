import { defaultRestartPolicy } from '@millrace/core';
import { expect, test } from 'vitest';
import { afterRouterEnd, exitCodeOf, newRouterRecord, type RouterEnd, type RouterRecord } from './router-end.ts';

const crash: RouterEnd = { exitCode: 1, signal: null, isMeant: false, listenedMs: 10 };
const hasListened: RouterRecord = { ...newRouterRecord, hasListened: true };

test.each<[NodeJS.Signals, number | undefined]>([
  ['SIGKILL', 10],
  ['SIGKILL', undefined],
  ['SIGSEGV', 10],
  ['SIGBUS', 10],
  ['SIGHUP', undefined],
])('%s after listening for %s ms is a kill: another router is started at once, however often', (signal, listenedMs) => {
  let record = newRouterRecord;
  for (let kill = 0; kill < 3 * defaultRestartPolicy.crashLoopDeaths; kill++) {
    const after = afterRouterEnd({ exitCode: null, signal, isMeant: false, listenedMs }, record, 0.5);
    expect(after).toMatchObject({ kind: 'restart', cause: 'killed', pauseMs: 0 });
    if (after.kind === 'restart') record = after.record;
  }
});

test.each<Partial<RouterEnd>>([
  { exitCode: 1 },
  { exitCode: 134 },
  { exitCode: null, signal: 'SIGABRT' },
  { exitCode: null, signal: 'SIGTRAP' },
  { exitCode: null, signal: 'SIGSEGV', listenedMs: undefined },
])('a router that ends by %j crashed: pauses grow, and in the end none is started', (end) => {
  const pauses: number[] = [];
  let record = hasListened;
  for (;;) {
    const after = afterRouterEnd({ ...crash, ...end }, record, 1);
    if (after.kind !== 'restart') {
      expect(after).toEqual({ kind: 'give-up', crashes: defaultRestartPolicy.crashLoopDeaths });
      break;
    }
    expect(after.cause).toBe('crashed');
    pauses.push(after.pauseMs);
    record = after.record;
  }
  expect(pauses).toEqual([0, 100, 200, 400]);
});

test('crashes of routers that listened for long are not counted together, and kills between crashes count for nothing', () => {
  const end: RouterEnd = { ...crash, listenedMs: defaultRestartPolicy.stableMs };
  let record = hasListened;
  for (let death = 0; death < 10; death++) {
    const after = afterRouterEnd(end, record, 0.5);
    expect(after).toMatchObject({ kind: 'restart', pauseMs: 0 });
    if (after.kind === 'restart') record = after.record;
  }
  const killed = afterRouterEnd({ ...crash, exitCode: null, signal: 'SIGKILL' }, record, 0.5);
  expect(killed).toMatchObject({ record });
});

test('a first router that fails before it listens is not started again, whether or not it said so', () => {
  expect(afterRouterEnd({ ...crash, listenedMs: undefined }, newRouterRecord, 0)).toEqual({ kind: 'end' });
  expect(afterRouterEnd({ ...crash, listenedMs: undefined }, hasListened, 0)).toMatchObject({ kind: 'restart' });
});

test('an end that is meant ends the supervisor, whatever it looks like', () => {
  for (const signal of [null, 'SIGKILL', 'SIGHUP'] as const) {
    expect(afterRouterEnd({ ...crash, signal, isMeant: true }, hasListened, 0)).toEqual({ kind: 'end' });
  }
});

test('the exit code is that of the router, or tells its signal', () => {
  expect(exitCodeOf({ exitCode: 2, signal: null })).toBe(2);
  expect(exitCodeOf({ exitCode: null, signal: 'SIGHUP' })).toBe(129);
  expect(exitCodeOf({ exitCode: null, signal: 'SIGKILL' })).toBe(137);
});
