import { readFileSync } from 'node:fs';
import type { RunningModels } from '../../dispatch/worker-group.ts';
import type { Revision } from './revision.ts';

/** The page size in which `/proc/PID/statm` counts, on every Linux that Node.js supports by default. */
const pageBytes = 4096;

/** Resident bytes of a process now; undefined where the system does not report it. */
export type MeasureProcess = (pid: number) => number | undefined;

/** From `/proc`, where there is one. A read of it asks the kernel, not a disk. */
export const measureProcess: MeasureProcess = (pid) => {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return Number.isFinite(pages) ? pages * pageBytes : undefined;
  } catch {
    return undefined;
  }
};

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
