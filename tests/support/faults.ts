/** What makes tests/support/faulty-worker.ts fail. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const poisonValue = 666;
/** Among the inputs of a run: it fails as one does that no run in the process can follow. */
export const spoilingValue = 777;
/** Beside a model's file: loading it ends the worker. */
export const crashFile = 'crash-on-load';
/** Beside a model's file: loading it never ends. */
export const hangFile = 'hang-on-load';

/** While this file is there, the worker of this process id, and of this parent's, fails whatever it runs, and lives. */
export function sickFileOf(pid: number, parentPid: number): string {
  return join(tmpdir(), `millrace-sick-worker-${parentPid}-${pid}`);
}
