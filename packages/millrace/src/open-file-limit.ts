/** How many connections the system's limit of open files leaves room for, beside what workers and files need. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { acceptsPerTurn } from '@millrace/http';
import { ConfigError } from '@millrace/protocol';

/** What a process may open, and what it has open already. */
export interface OpenFiles {
  readonly max: number;
  readonly open: number;
}

/**
 * Descriptors that the start of a worker takes while it happens: the memory it shares (1), both ends of its socket and
 * of its standard error (4), the pipe by which the system tells that the program runs (2), and one to read its size.
 * Three of them stay open. All workers may be restarted at the same time, and connections may have taken the descriptors
 * of the dead workers by then, so this number is kept free for each worker.
 */
const descriptorsPerWorkerStart = 8;
const descriptorsPerWorker = 3;
/** For model files, the store, the graph analysis process, reads of /proc, and descriptors that Node opens on its own. */
const descriptorsForFiles = 32;
/** Handles of the listening sockets, of which each port has `acceptsPerTurn`. */
const descriptorsForListeners = 4 * acceptsPerTurn;
/** Workers that the check at the start leaves room for. For further ones the connection limiter admits fewer connections as they are added. */
const workersAtStart = 4;
const advice = 'raise it (ulimit -n, LimitNOFILE= in systemd, --ulimit nofile= in Docker)';
/** With fewer connections than this the start fails. */
const connectionsMin = 8;

/** Descriptors that connections may not use: for files, and for the restart of every worker. */
export function reservedDescriptors(workers: number): number {
  return descriptorsForFiles + workers * descriptorsPerWorkerStart;
}

/** Node opens many module files at the same time while it loads a program; with fewer descriptors the load fails with EMFILE. */
const openFilesMin = 256;

/** Throws a `ConfigError` if the limit is too low to load the server's modules. */
export function mustAllowStart(files: OpenFiles | undefined): void {
  if (files === undefined || files.max >= openFilesMin) return;
  const message = `the server needs ${openFilesMin} open files or more, and the limit of open files is ${files.max}`;
  throw new ConfigError([{ source: 'open files', message: `${message}; ${advice}` }]);
}

/** The connection limit that fits into the limit of open files. Throws a `ConfigError` where not even a few connections fit. */
export function fittingConnections(wanted: number, operatorConnections: number, files: OpenFiles): number {
  const others =
    files.open +
    descriptorsForListeners +
    operatorConnections +
    workersAtStart * descriptorsPerWorker +
    reservedDescriptors(workersAtStart);
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

/** Reads the limit from a shell, which inherits it from this process. */
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

/** Assumed number of open descriptors where the system does not tell. */
const openAtStart = 32;

function countOpen(): number {
  for (const folder of ['/proc/self/fd', '/dev/fd']) {
    try {
      return readdirSync(folder).length;
    } catch {
      // This system has no such folder.
    }
  }
  return openAtStart;
}
