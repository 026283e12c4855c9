/**
 * One instance: a fresh server of each side, both alive at the same time on the same core, and slices of load that alternate
 * between them, so that a machine whose speed drifts slows both alike.
 */
import { type Contestant, type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import type { PreparedCell } from './cells.ts';
import { type Disturbance, disturbanceOf, readCoreTimes } from './disturbance.ts';
import { SliceLoadProcess } from './slice-load-process.ts';
import { threadTimes, timeUsed } from './thread-time.ts';
import type { Measurement, Pair } from './verdict.ts';

export type Side = keyof Pair;

export interface SlicePlan {
  /** Undisturbed pairs to measure. As many disturbed ones are repeated at most. */
  readonly pairs: number;
  readonly sliceMs: number;
  readonly warmupMs: number;
  /** Whether the server after the change is started, and measured, first. */
  readonly isAfterFirst: boolean;
}

export interface InstanceResult {
  readonly pairs: readonly Pair[];
  /** Why pairs were repeated; one entry for each. */
  readonly repeated: readonly Disturbance[];
  /** How many pairs count although they were disturbed, as nothing was left to repeat. */
  readonly disturbedCount: number;
  /** Processor time of the server that waited, as parts of one core, one for each pair. */
  readonly waitingShares: readonly number[];
}

interface MeasuredSlice extends Measurement {
  readonly waitingShare: number;
  readonly disturbance: Disturbance | undefined;
}

export async function measureInstance(
  contestants: Readonly<Record<Side, Contestant>>,
  cell: PreparedCell,
  plan: SlicePlan,
): Promise<InstanceResult> {
  const order: readonly Side[] = plan.isAfterFirst ? ['after', 'before'] : ['before', 'after'];
  const running = await startContestants(order.map((side) => contestants[side]));
  const load = new SliceLoadProcess(cell.loadArguments);
  try {
    for (const { port } of running) {
      await cell.checkAnswer?.(port);
      await load.run(port, plan.warmupMs);
    }
    const [first, second] = running as readonly [RunningContestant, RunningContestant];
    return plan.isAfterFirst
      ? await measurePairs(load, second, first, plan)
      : await measurePairs(load, first, second, plan);
  } finally {
    await load.stop();
    await stopContestants(running);
  }
}

async function measurePairs(
  load: SliceLoadProcess,
  before: RunningContestant,
  after: RunningContestant,
  plan: SlicePlan,
): Promise<InstanceResult> {
  const pairs: Pair[] = [];
  const repeated: Disturbance[] = [];
  const waitingShares: number[] = [];
  let disturbedCount = 0;
  let isAfterFirst = plan.isAfterFirst;
  while (pairs.length < plan.pairs) {
    const [first, second] = isAfterFirst ? [after, before] : [before, after];
    const ofFirst = await measureSlice(load, first, second, plan.sliceMs);
    const ofSecond = await measureSlice(load, second, first, plan.sliceMs);
    const pair = isAfterFirst ? { before: ofSecond, after: ofFirst } : { before: ofFirst, after: ofSecond };
    // Order ABBA: what drifts evenly over four slices cancels out.
    isAfterFirst = !isAfterFirst;
    const disturbance = ofFirst.disturbance ?? ofSecond.disturbance;
    if (disturbance !== undefined && repeated.length < plan.pairs) {
      repeated.push(disturbance);
      continue;
    }
    if (disturbance !== undefined) disturbedCount += 1;
    pairs.push(pair);
    waitingShares.push(Math.max(ofFirst.waitingShare, ofSecond.waitingShare));
  }
  return { pairs, repeated, disturbedCount, waitingShares };
}

async function measureSlice(
  load: SliceLoadProcess,
  server: RunningContestant,
  waiting: RunningContestant,
  sliceMs: number,
): Promise<MeasuredSlice> {
  const begin = readTimes(load, server, waiting);
  const { answered, seconds, p50Ms } = await load.run(server.port, sliceMs);
  const end = readTimes(load, server, waiting);
  const wallMs = end.at - begin.at;
  const [used, usedWaiting, usedLoad] = [
    timeUsed(begin.server, end.server),
    timeUsed(begin.waiting, end.waiting),
    timeUsed(begin.load, end.load),
  ];
  const ownMicros = end.own.user + end.own.system - begin.own.user - begin.own.system;
  const disturbance = disturbanceOf({
    wallMs,
    cores: end.cores.cores,
    idleMs: end.cores.idleMs - begin.cores.idleMs,
    stolenMs: end.cores.stolenMs - begin.cores.stolenMs,
    waitingMs: usedWaiting.ms,
    ownMs: used.ms + usedWaiting.ms + usedLoad.ms + ownMicros / 1000,
    isIncomplete: used.isIncomplete || usedWaiting.isIncomplete,
  });
  if (used.ms === 0) throw new Error('this kernel does not count the processor time of threads (schedstat)');
  return {
    answered,
    requestsPerSecond: answered / seconds,
    serverMicros: (used.ms * 1000) / answered,
    p50Ms,
    waitingShare: usedWaiting.ms / wallMs,
    disturbance,
  };
}

function readTimes(load: SliceLoadProcess, server: RunningContestant, waiting: RunningContestant) {
  return {
    server: threadTimes(server.child.pid as number),
    waiting: threadTimes(waiting.child.pid as number),
    load: threadTimes(load.pid),
    own: process.cpuUsage(),
    cores: readCoreTimes(),
    at: performance.now(),
  };
}
