/** Reads what `strace -ff -ttt -y` wrote: one file for each thread, put together to processes. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { programs } from 'millrace/internal';

/** What is traced: everything that takes a path, everything of sockets, and the making of processes. */
export const traceOptions = ['-ff', '-ttt', '-y', '-s', '4096', '-e', 'trace=%file,%network,%process'];

export interface TraceEvent {
  /** Seconds since 1970. */
  readonly at: number;
  readonly call: string;
  /** The line without its time. */
  readonly text: string;
  /** The file that was opened or changed: the real one where the call succeeded, otherwise as it was asked for. */
  readonly path: string | undefined;
  readonly writes: boolean;
}

export interface TracedProcess {
  readonly pid: number;
  /** The arguments it was executed with; of the last time, where there were several. Empty: it never was. */
  readonly args: readonly string[];
  readonly events: readonly TraceEvent[];
}

const opening = new Set(['open', 'openat', 'openat2', 'creat']);
const changing =
  /^(mkdir|mknod|rename|link|symlink|unlink|rmdir|chmod|fchmodat|chown|lchown|fchownat|truncate|utime|utimes|utimensat|futimesat|setxattr|lsetxattr|removexattr|lremovexattr|mount|chroot|acct|swapon)(at|at2)?$/;

export function readTrace(folder: string): readonly TracedProcess[] {
  const threads = new Map<number, readonly string[]>();
  for (const name of readdirSync(folder)) {
    const thread = Number(/\.(\d+)$/.exec(name)?.[1]);
    if (Number.isInteger(thread)) threads.set(thread, readFileSync(join(folder, name), 'utf8').split('\n'));
  }
  const processOf = processesOf(threads);
  const events = new Map<number, TraceEvent[]>();
  const args = new Map<number, readonly string[]>();
  for (const [thread, lines] of threads) {
    const pid = processOf.get(thread) ?? thread;
    const list = events.get(pid) ?? [];
    events.set(pid, list);
    for (const line of lines) {
      const event = takeEvent(line);
      if (event === undefined) continue;
      list.push(event);
      if (event.call === 'execve' && / = 0$/.test(event.text)) args.set(pid, argumentsOf(event.text));
    }
  }
  return [...events].map(([pid, list]) => ({
    pid,
    args: args.get(pid) ?? [],
    events: list.sort((left, right) => left.at - right.at),
  }));
}

/** The process of each thread that another thread of the same process has made. */
function processesOf(threads: ReadonlyMap<number, readonly string[]>): ReadonlyMap<number, number> {
  const maker = new Map<number, number>();
  for (const [thread, lines] of threads) {
    for (const line of lines) {
      const made = /^\S+ clone3?\(.*CLONE_THREAD.*\) = (\d+)/.exec(line)?.[1];
      if (made !== undefined) maker.set(Number(made), thread);
    }
  }
  const processOf = new Map<number, number>();
  for (const thread of threads.keys()) {
    let at = thread;
    while (maker.has(at)) at = maker.get(at) as number;
    processOf.set(thread, at);
  }
  return processOf;
}

function takeEvent(line: string): TraceEvent | undefined {
  const [, at, text, call] = /^(\d+\.\d+) ((\w+)\(.*)$/.exec(line) ?? [];
  if (at === undefined || text === undefined || call === undefined) return undefined;
  const isOpen = opening.has(call);
  const isChange = changing.test(call);
  const hasWriteFlag = call === 'creat' || /\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND)\b/.test(text);
  return {
    at: Number(at),
    call,
    text,
    path: isOpen || isChange ? pathOf(text) : undefined,
    writes: isChange || (isOpen && hasWriteFlag),
  };
}

function pathOf(text: string): string {
  const opened = / = \d+<(.+)>$/.exec(text)?.[1];
  if (opened !== undefined) return opened.replace(/ \(deleted\)$/, '');
  const [, folder = '/'] = /^\w+\((?:AT_FDCWD|\d+)<([^>]*)>, /.exec(text) ?? [];
  return resolve(folder, /"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? '');
}

function argumentsOf(text: string): readonly string[] {
  const list = /\[(.*)\]/.exec(text)?.[1] ?? '';
  return [...list.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, argument = '']) => argument);
}

/** What a process of the server is there for, by its program. */
export type ProcessKind = 'router' | 'worker' | 'describe' | 'analyst' | 'other';

export function processKindOf({ args }: TracedProcess): ProcessKind {
  const program = args.slice(1).find((argument) => !argument.startsWith('-')) ?? '';
  if (program === programs.worker || program === programs.pipelineWorker) return 'worker';
  if (program === programs.pipelineDescriber) return 'describe';
  if (program === programs.rowAnalyst) return 'analyst';
  return basename(program) === 'millrace.js' ? 'router' : 'other';
}
