/**
 * Processor time of a server and the processes it started. Where the machine is shared with others, time on the wall
 * says more about them than about the server; microseconds of processor a request say how much it has to do.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** What `/proc` counts in, on every Linux there is. */
const ticksPerSecond = 100;

/** Undefined where there is no `/proc`. `counts`: which processes of the family; all of them unless given. */
export function processorSeconds(pid: number, counts: (member: number) => boolean = () => true): number | undefined {
  try {
    let ticks = 0;
    for (const each of processFamily(pid)) {
      if (!counts(each)) continue;
      // The name in parentheses may hold spaces; user and system time are the 12th and 13th field behind it.
      const stat = readFileSync(`/proc/${each}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return ticks / ticksPerSecond;
  } catch {
    return undefined;
  }
}

/** Runs the load and tells the server's processor microseconds for each thing done, of which `done` gives the number. */
export async function withProcessorMicros<Result>(
  pid: number | undefined,
  load: () => Promise<Result>,
  done: (result: Result) => number,
): Promise<{ readonly result: Result; readonly micros: number | undefined }> {
  const before = pid === undefined ? undefined : processorSeconds(pid);
  const result = await load();
  const after = pid === undefined ? undefined : processorSeconds(pid);
  const micros = before === undefined || after === undefined ? undefined : ((after - before) * 1e6) / done(result);
  return { result, micros };
}

/** Whether it is a process of this server that only runs models; the rivals run theirs in the process that serves. */
export function isModelWorker(pid: number): boolean {
  return unlessEnded(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1'))?.startsWith('millrace-worker') === true;
}

/** A process and all that it and they started; those that end meanwhile are left out. */
export function processFamily(pid: number): number[] {
  const members = [pid];
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = unlessEnded(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1'))?.trim() ?? '';
    if (children === '') continue;
    for (const child of children.split(' ')) members.push(...(unlessEnded(() => processFamily(Number(child))) ?? []));
  }
  return members;
}

/** What a reading of `/proc` gives, or undefined where the process or the thread has ended. */
export function unlessEnded<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}
