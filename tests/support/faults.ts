/** What makes tests/support/faulty-worker.ts fail. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const poisonValue = 666;
/** Among the inputs of a run: it fails in a way after which the process can run nothing. */
export const spoilingValue = 777;
/** Beside a model's file: loading it ends the worker. */
export const crashFile = 'crash-on-load';
/** Beside a model's file: loading it never ends. */
export const hangFile = 'hang-on-load';

/** While this file exists, the worker with this process id and parent fails every run and stays alive. */
export function sickFileOf(pid: number, parentPid: number): string {
  return join(tmpdir(), `millrace-sick-worker-${parentPid}-${pid}`);
}
