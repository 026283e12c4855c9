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

/** Of the control group, as a container sees its own: version 2, or version 1, where `-1` is no limit. */
function hasQuota(readFile: (path: string) => string): boolean {
  const [quota] = readWords(readFile, '/sys/fs/cgroup/cpu.max');
  if (quota !== undefined) return quota !== 'max';
  const [microseconds] = readWords(readFile, '/sys/fs/cgroup/cpu/cpu.cfs_quota_us');
  return microseconds !== undefined && microseconds !== '-1';
}

function readWords(readFile: (path: string) => string, path: string): readonly string[] {
  try {
    return readFile(path).trim().split(/\s+/);
  } catch {
    return [];
  }
}
