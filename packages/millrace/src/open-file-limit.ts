/** How many connections the system's limit of open files leaves room for, beside what workers and files need. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { ConfigError } from '@millrace/protocol';

/** What a process may open, and what it has open already. */
export interface OpenFiles {
  readonly max: number;
  readonly open: number;
}

/**
 * Descriptors that the start of a worker takes while it happens: the memory it shares (1), both ends of its socket and
 * of its standard error (4), the pipe by which the system tells that the program runs (2), and one to read its size.
 * Three of them stay. All workers may have to be started anew at once, when their old descriptors may be taken already.
 */
export const descriptorsPerWorkerStart = 8;
const descriptorsPerWorker = 3;
/** For model files, folders, the store, the analysis of graphs, /proc, and what a program opens without saying. */
export const descriptorsForFiles = 32;
/** How many workers the limit of connections leaves room for at the start; connections give way to further ones as they come. */
const workersAtStart = 4;
const advice = 'raise it (ulimit -n, LimitNOFILE= in systemd, --ulimit nofile= in Docker)';
/** Fewer connections than this are no server. */
const connectionsMin = 8;

/** What is kept free of connections for files, and for every worker to be started anew. */
export function reservedDescriptors(workers: number): number {
  return descriptorsForFiles + workers * descriptorsPerWorkerStart;
}

/** Node opens the files of a program at once: with fewer than this it cannot be loaded, and says so of some file of it. */
const openFilesMin = 256;

/** Throws a `ConfigError` where the server could not even be loaded. */
export function mustAllowStart(files: OpenFiles | undefined): void {
  if (files === undefined || files.max >= openFilesMin) return;
  const message = `the server needs ${openFilesMin} open files or more, and the limit of open files is ${files.max}`;
  throw new ConfigError([{ source: 'open files', message: `${message}; ${advice}` }]);
}

/**
 * The limit of connections that fits. Throws a `ConfigError` where not even a few do: such a server would fail at its
 * first request instead.
 */
export function fittingConnections(wanted: number, operatorConnections: number, files: OpenFiles): number {
  const others =
    files.open + operatorConnections + workersAtStart * descriptorsPerWorker + reservedDescriptors(workersAtStart);
  const room = files.max - others;
  if (room >= Math.min(wanted, connectionsMin)) return Math.min(wanted, room);
  const message =
    `needs ${others + Math.min(wanted, connectionsMin)} open files or more, and the limit of open files is ` +
    `${files.max}; ${advice}`;
  throw new ConfigError([{ source: 'open files', field: 'http.connectionsMax', message }]);
}

/** Undefined where the system does not say. Node has raised the soft limit to the hard one when it started. */
export function readOpenFiles(): OpenFiles | undefined {
  const max = readMax();
  return max === undefined ? undefined : { max, open: countOpen() };
}

function readMax(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return numberFrom(/^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]);
  } catch {
    return readShellMax();
  }
}

/** A shell inherits the limit of this process. */
function readShellMax(): number | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    return numberFrom(execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8', timeout: 5000 }).trim());
  } catch {
    return undefined;
  }
}

function numberFrom(text: string | undefined): number | undefined {
  if (text === 'unlimited') return Number.POSITIVE_INFINITY;
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Where the system does not say, what a process that has just started has open. */
const openAtStart = 32;

function countOpen(): number {
  for (const folder of ['/proc/self/fd', '/dev/fd']) {
    try {
      return readdirSync(folder).length;
    } catch {
      // Not this system's.
    }
  }
  return openAtStart;
}
