import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RunningModels } from '../../dispatch/worker-group.ts';
import type { Revision } from './revision.ts';

/** The page size in which `/proc/PID/statm` counts, on every Linux that Node.js supports by default. */
const pageBytes = 4096;

/** What the kernel says of a process's memory, the better figure first. */
const figures: readonly {
  readonly path: (pid: number) => string;
  readonly bytesFrom: (text: string) => number;
}[] = [
  {
    path: (pid) => `/proc/${pid}/smaps_rollup`,
    bytesFrom: (text) => Number(/^Pss: +(\d+) kB$/m.exec(text)?.[1]) * 1024,
  },
  { path: (pid) => `/proc/${pid}/statm`, bytesFrom: (text) => Number(text.split(' ')[1]) * pageBytes },
];

/** Bytes of memory that a process has now; undefined where the system does not report it. */
export type MeasureProcess = (pid: number) => number | undefined;

/**
 * The proportional set size: a page that several processes share, such as the program's own, is divided among them, so that
 * the sum over all processes is what they really take. From `/proc`, where there is one; a read of it asks the kernel,
 * not a disk. The resident size where the kernel keeps the other one from us, because the worker runs as another user.
 */
export const measureProcess: MeasureProcess = (pid) => {
  for (const { path, bytesFrom } of figures) {
    try {
      const bytes = bytesFrom(readFileSync(path(pid), 'latin1'));
      if (Number.isFinite(bytes)) return bytes;
    } catch {}
  }
  return undefined;
};

/**
 * The same for several processes, one after the other, on another thread: the kernel walks all memory of a process, which takes
 * milliseconds, and the event loop would be held for all of them together. A process that has started since is measured when asked for.
 */
export async function measureProcesses(pids: readonly number[]): Promise<MeasureProcess> {
  const measured = new Map<number, number | undefined>();
  for (const pid of pids) measured.set(pid, await measuredAside(pid));
  return (pid) => (measured.has(pid) ? measured.get(pid) : measureProcess(pid));
}

async function measuredAside(pid: number): Promise<number | undefined> {
  for (const { path, bytesFrom } of figures) {
    try {
      const bytes = bytesFrom(await readFile(path(pid), 'latin1'));
      if (Number.isFinite(bytes)) return bytes;
    } catch {}
  }
  return undefined;
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
