/** Whether other processes used the machine during a slice, so that its result is not valid. */
import { readFileSync } from 'node:fs';
import { canPin } from '../pinned-process.ts';

/** What `/proc/stat` counts in, on every Linux there is. */
const msPerTick = 10;
/** As a fraction of the slice, over all measured cores. Idle time is counted in ticks: less than this is within its rounding. */
const stolenShareMax = 0.04;
const foreignShareMax = 0.06;
/** Part of one core. An idle server still has timers, and the garbage of its last slice. */
const waitingShareMax = 0.02;

export type Disturbance = 'steal' | 'other processes' | 'waiting server busy' | 'thread ended';

export interface CoreTimes {
  readonly cores: number;
  readonly idleMs: number;
  readonly stolenMs: number;
}

export interface SliceUse {
  readonly wallMs: number;
  readonly cores: number;
  readonly idleMs: number;
  readonly stolenMs: number;
  /** Processor time of the server that waits, and of servers, load and this program together. */
  readonly waitingMs: number;
  readonly ownMs: number;
  /** See `TimeUsed`. */
  readonly isIncomplete: boolean;
}

/** Of the cores that server and load are pinned to, or of all when nothing is pinned. */
export function readCoreTimes(): CoreTimes {
  return coreTimesFrom(readFileSync('/proc/stat', 'latin1'), canPin ? ['cpu0', 'cpu1'] : undefined);
}

export function coreTimesFrom(stat: string, names: readonly string[] | undefined): CoreTimes {
  let cores = 0;
  let idleTicks = 0;
  let stolenTicks = 0;
  for (const line of stat.split('\n')) {
    const [name = '', , , , idle, waitingForDisk, , , stolen] = line.split(' ');
    if (!/^cpu\d/.test(name) || names?.includes(name) === false) continue;
    cores += 1;
    idleTicks += Number(idle) + Number(waitingForDisk);
    stolenTicks += Number(stolen);
  }
  return { cores, idleMs: idleTicks * msPerTick, stolenMs: stolenTicks * msPerTick };
}

export function disturbanceOf(use: SliceUse): Disturbance | undefined {
  const { wallMs, cores, idleMs, stolenMs, waitingMs, ownMs, isIncomplete } = use;
  if (isIncomplete) return 'thread ended';
  if (stolenMs > stolenShareMax * wallMs * cores) return 'steal';
  // Whatever was neither idle, stolen nor ours. The kernel keeps idle time exactly, the other columns by sampling.
  const foreignMs = wallMs * cores - idleMs - stolenMs - ownMs;
  if (foreignMs > foreignShareMax * wallMs * cores) return 'other processes';
  if (waitingMs > waitingShareMax * wallMs) return 'waiting server busy';
  return undefined;
}
