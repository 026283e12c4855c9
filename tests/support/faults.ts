/** What makes tests/support/faulty-worker.ts fail. */
export const poisonValue = 666;
/** Among the inputs of a run: it fails in a way after which the process can run nothing. */
export const spoilingValue = 777;
/** Beside a model's file: loading it ends the worker. */
export const crashFile = 'crash-on-load';
/** Beside a model's file: loading it never ends. */
export const hangFile = 'hang-on-load';

/**
 * While this file exists, the worker with this process id and parent fails every run and stays alive. Workers are not told of the
 * environment, so that both look in the same folder only where its name is fixed.
 */
export function sickFileOf(pid: number, parentPid: number): string {
  return `/tmp/millrace-sick-worker-${parentPid}-${pid}`;
}
