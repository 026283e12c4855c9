import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { giveWay } from './lower-priority.ts';

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A Node that is up, with all its threads. */
async function child(): Promise<number> {
  const started = spawn(process.execPath, ['-e', 'console.log(1); setTimeout(() => {}, 60_000)']);
  children.push(started);
  await once(started.stdout, 'data');
  return started.pid as number;
}

test('a child process and each of its threads has a lower priority than this one, by as much as was said', async () => {
  const pid = await child();
  expect(getPriority(pid)).toBe(getPriority());
  giveWay(pid, 3);
  const lowered = Math.min(19, getPriority() + 3);
  expect(getPriority(pid)).toBe(lowered);
  if (!existsSync('/proc/self/task')) return;
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  expect(threads.length).toBeGreaterThan(1);
  expect(threads.map((thread) => getPriority(thread))).toEqual(threads.map(() => lowered));
});

test('a niceness of 0 leaves the priority as it is, and a process that has ended is no error', async () => {
  const pid = await child();
  giveWay(pid, 0);
  expect(getPriority(pid)).toBe(getPriority());
  const [ended] = children;
  ended?.kill('SIGKILL');
  await once(ended as ChildProcess, 'close');
  giveWay(pid, 3);
});
