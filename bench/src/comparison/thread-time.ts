/**
 * Processor time of a process tree in nanoseconds, from `/proc/PID/task/TID/schedstat`. The user and system time of
 * `/proc/PID/stat` come in ticks of 10 ms, too coarse for a slice.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { processFamily, unlessEnded } from '../processor-time.ts';

/** Nanoseconds on a processor so far, by `process/thread`. */
export type ThreadTimes = ReadonlyMap<string, number>;

/** All threads of a process and of those it started. A thread that ends meanwhile is left out. */
export function threadTimes(pid: number): ThreadTimes {
  const times = new Map<string, number>();
  for (const process of processFamily(pid))
    for (const thread of unlessEnded(() => readdirSync(`/proc/${process}/task`)) ?? []) {
      const text = unlessEnded(() => readFileSync(`/proc/${process}/task/${thread}/schedstat`, 'latin1'));
      if (text !== undefined) times.set(`${process}/${thread}`, Number(text.slice(0, text.indexOf(' '))));
    }
  return times;
}

export interface TimeUsed {
  readonly ms: number;
  /** A thread ended in between, and what it used since the first reading is not counted. */
  readonly isIncomplete: boolean;
}

export function timeUsed(before: ThreadTimes, after: ThreadTimes): TimeUsed {
  let nanos = 0;
  for (const [thread, now] of after) nanos += now - (before.get(thread) ?? 0);
  const isIncomplete = [...before.keys()].some((thread) => !after.has(thread));
  return { ms: nanos / 1e6, isIncomplete };
}
