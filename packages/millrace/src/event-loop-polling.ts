/** Whether the router may poll its event loop for the next event of one caller, and for how long (ADR 0116). */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { PolledLoop, systemClock } from '@millrace/router/internal';
import { takeYieldCore } from '@millrace/shared-memory';

/** What the system grants this process. */
export interface ProcessorGrant {
  /** Cores that the process may use. */
  readonly cores: number;
  /** Its processor time is limited, so that polls would be taken off the time for requests. */
  readonly hasQuota: boolean;
}

export function processorGrant(readFile = (path: string) => readFileSync(path, 'utf8')): ProcessorGrant {
  return { cores: availableParallelism(), hasQuota: hasQuota(readFile) };
}

/** Undefined: the event loop always sleeps. */
export function eventLoopPolling(waitMicrosMax: number, grant = processorGrant()): PolledLoop | undefined {
  if (waitMicrosMax === 0 || grant.hasQuota) return undefined;
  // Polls that other threads have to wait for would not be free.
  const yieldCore = takeYieldCore();
  if (yieldCore === undefined) return undefined;
  return new PolledLoop(systemClock, yieldCore, { waitMsMax: waitMicrosMax / 1000, pollsForAnswers: grant.cores > 1 });
}

/** Of the control groups of the process, up to the topmost that it can see. */
function hasQuota(readFile: (path: string) => string): boolean {
  const memberships = textOf(readFile, '/proc/self/cgroup').split('\n');
  return memberships.some((membership) => {
    // As `0::/path` in version 2, and `4:cpu,cpuacct:/path` in version 1; names of containers have colons, too.
    const [, controllers = '', ...path] = membership.split(':');
    return foldersFrom(path.join(':')).some((folder) => {
      const quota = textOf(readFile, `/sys/fs/cgroup${folder}/cpu.max`);
      if (quota !== '') return !quota.startsWith('max');
      const microseconds = textOf(readFile, `/sys/fs/cgroup/${controllers}${folder}/cpu.cfs_quota_us`);
      return microseconds !== '' && microseconds !== '-1';
    });
  });
}

/** `/a/b`, `/a` and the root, which is empty. */
function foldersFrom(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '');
  return Array.from({ length: names.length + 1 }, (_, left) =>
    names
      .slice(0, names.length - left)
      .map((name) => `/${name}`)
      .join(''),
  );
}

/** Empty where there is no such file. */
function textOf(readFile: (path: string) => string, path: string): string {
  try {
    return readFile(path).trim();
  } catch {
    return '';
  }
}
