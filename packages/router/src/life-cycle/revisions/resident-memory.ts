import { readFileSync } from 'node:fs';
import type { RunningModels } from '../../dispatch/worker-group.ts';
import type { Revision } from './revision.ts';

/** The page size in which `/proc/PID/statm` counts, on every Linux that Node.js supports by default. */
const pageBytes = 4096;

/** Bytes of memory that a process has now; undefined where the system does not report it. */
export type MeasureProcess = (pid: number) => number | undefined;

/**
 * The proportional set size: a page that several processes share, such as the program's own, is divided among them, so that
 * the sum over all processes is what they really take. From `/proc`, where there is one; a read of it asks the kernel,
 * not a disk. The resident size where the kernel keeps the other one from us, because the worker runs as another user.
 */
export const measureProcess: MeasureProcess = (pid) =>
  takeBytes(`/proc/${pid}/smaps_rollup`, (text) => Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1]) * 1024) ??
  takeBytes(`/proc/${pid}/statm`, (text) => Number(text.split(' ')[1]) * pageBytes);

function takeBytes(path: string, read: (text: string) => number): number | undefined {
  try {
    const bytes = read(readFileSync(path, 'latin1'));
    return Number.isFinite(bytes) ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** The same, with each process measured at most once: many models may share one. */
export function measuredOnce(measure: MeasureProcess): MeasureProcess {
  const known = new Map<number, number | undefined>();
  return (pid) => {
    if (!known.has(pid)) known.set(pid, measure(pid));
    return known.get(pid);
  };
}

/** A process is not measured again within this time: the kernel walks all of its memory, which takes milliseconds. */
const seldomMs = 100;

/** The same, with each process measured at most ten times a second. */
export function measuredSeldom(measure: MeasureProcess, now: () => number): MeasureProcess {
  const known = new Map<number, { readonly bytes: number | undefined; readonly at: number }>();
  return (pid) => {
    const at = now();
    for (const [other, { at: measuredAt }] of known) if (at - measuredAt >= seldomMs) known.delete(other);
    const last = known.get(pid) ?? { bytes: measure(pid), at };
    known.set(pid, last);
    return last.bytes;
  };
}

/**
 * The memory of a revision: all of its worker processes together. A worker that has not loaded yet is assumed to
 * become like the others. Inside the server's own process models cannot be measured separately, so the size of the
 * files is used there.
 */
export function residentBytesOf({ plan }: Revision, running: RunningModels, measure: MeasureProcess): number {
  if (plan.lane === 'inline') return plan.bytesExpected;
  const each = running.memory().map(({ pid, residentBytes, share }) => {
    if (residentBytes === 0) return 0;
    const measured = pid === undefined ? undefined : measure(pid);
    return (measured ?? residentBytes) * share;
  });
  const largest = Math.max(0, ...each);
  return each.reduce((sum, bytes) => sum + (bytes === 0 ? largest : bytes), 0);
}
