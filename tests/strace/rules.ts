/** What the processes of a server may do to the system; docs/operating/confinement.md says why. */
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../support/repository-root.ts';
import { processKindOf, type TracedProcess, type TraceEvent } from './read-trace.ts';

export interface Ground {
  /** Model folders, store and private folder. */
  readonly folders: readonly string[];
  /** When the server was ready, in seconds since 1970. */
  readonly readyAt: number;
  /** When each worker was ready, by process id. */
  readonly workersReadyAt: ReadonlyMap<number, number>;
}

/** Files of the kernel, not of a disk. */
const kernelFolders = ['/proc', '/sys'];

/** What Node and native libraries are made of: read by a new process until it is ready. */
const programFolders = [
  dirname(dirname(process.execPath)) === '/usr' ? process.execPath : dirname(dirname(process.execPath)),
  join(repositoryRoot, 'packages'),
  join(repositoryRoot, 'node_modules'),
  join(repositoryRoot, 'package.json'),
  '/lib',
  '/lib64',
  '/usr/lib',
  '/usr/lib64',
  '/usr/local/lib',
  '/etc/ld.so.cache',
  '/etc/ld.so.preload',
  '/etc/ssl/openssl.cnf',
  '/usr/lib/ssl/openssl.cnf',
  '/etc/localtime',
  '/usr/share/zoneinfo',
];

/** What the C library reads, and whom it asks, to find the address of a name. */
const resolverFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/host.conf', '/etc/nsswitch.conf', '/etc/gai.conf'];
const resolverSockets = /sun_path="[^"]*(nscd|systemd\/resolve|dbus|avahi)[^"]*"/;

export interface TraceViolation {
  readonly process: TracedProcess;
  readonly event: TraceEvent;
}

/** No DNS lookup and no outgoing connection: the server only accepts. */
export function lookups(processes: readonly TracedProcess[], { readyAt }: Ground): readonly TraceViolation[] {
  return violations(processes, (_, { call, text, at, path }) => {
    if (/htons\(53\)/.test(text) || resolverSockets.test(text)) return true;
    if (call === 'connect' && /sa_family=AF_INET6?/.test(text)) return true;
    if (at < readyAt) return false;
    return (path !== undefined && isIn(path, resolverFiles)) || (call === 'socket' && text.includes('AF_NETLINK'));
  });
}

/** A child process has the sockets it was given, and makes none that reach out of the machine. */
export function childSockets(processes: readonly TracedProcess[]): readonly TraceViolation[] {
  return violations(
    processes.filter((process) => processKindOf(process) !== 'router'),
    (_, { call, text }) => call === 'socket' && /AF_(INET6?|NETLINK|PACKET)/.test(text),
  );
}

/** Opened after the server was ready, by whom it may not be. */
export function opensOutside(processes: readonly TracedProcess[], ground: Ground): readonly TraceViolation[] {
  return violations(processes, (process, { at, path, writes }) => {
    if (path === undefined || writes || at < ground.readyAt) return false;
    if (isIn(path, [...ground.folders, ...kernelFolders]) || path === '/dev/null') return false;
    return !(isStarting(process, at, ground) && isIn(path, programFolders));
  });
}

/** Written at any time. */
export function writesOutside(processes: readonly TracedProcess[], { folders }: Ground): readonly TraceViolation[] {
  return violations(processes, (_, { path, writes }) => {
    if (path === undefined || !writes) return false;
    return !isIn(path, folders) && path !== '/dev/null' && !/^\/proc\/(\d+|self)\/(oom_score_adj$|task\/)/.test(path);
  });
}

/** A child process that has not said that it is ready; those that describe and analyse never do, and end soon. */
function isStarting(process: TracedProcess, at: number, { workersReadyAt }: Ground): boolean {
  const kind = processKindOf(process);
  if (kind === 'router') return false;
  return kind !== 'worker' || at < (workersReadyAt.get(process.pid) ?? Number.POSITIVE_INFINITY);
}

function violations(
  processes: readonly TracedProcess[],
  isWrong: (process: TracedProcess, event: TraceEvent) => boolean,
): readonly TraceViolation[] {
  return processes.flatMap((process) =>
    process.events.filter((event) => isWrong(process, event)).map((event) => ({ process, event })),
  );
}

function isIn(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
