import type { ModelEntry } from '../models/model-entry.ts';
import type { InstanceEntry } from './instance-entry.ts';
import type { WorkerEntry } from './worker-entry.ts';

/** Below this, recent failures count as none, so that one old failure does not rank an instance last for ever. */
const failuresMin = 1 / 16;

/**
 * Chooses the instance that gets the next batch of a model; undefined when none may have it now.
 *
 * An instance whose breaker is open gets nothing while another one is closed, even if that one is busy: otherwise load
 * would bring the work back to it. When all are open, all get work: a model is never turned off for its failures.
 * Where the policy or a latency target limits the instances in use, the first ones in order of arrival are used: a spare
 * takes the place of one that is gone, and that one is a spare when it is back. While suspects of a concurrent model may be
 * next, only workers that run nothing are given its work.
 */
export function chooseInstance(model: ModelEntry, nowMs: number): InstanceEntry | undefined {
  const { instances } = model;
  const only = instances[0];
  if (only === undefined) return undefined;
  const level = model.queue.head?.level ?? 0;
  if (instances.length === 1) return canBegin(only) && only.takesLevel(level) ? only : undefined;
  const isAnyTrusted = instances.some((instance) => instance.takesLevel(level) && isTrusted(instance));
  let usableLeft = model.instancesInUseMax;
  let best: InstanceEntry | undefined;
  for (const instance of instances) {
    if (!instance.takesLevel(level)) continue;
    if (isAnyTrusted && !instance.breaker.takesWorkAt(nowMs)) continue;
    if (usableLeft === 0) break;
    usableLeft -= 1;
    if (!canBegin(instance)) continue;
    if (best === undefined || isBetter(instance, best, nowMs)) best = instance;
  }
  return best;
}

/** Whether some instance could take a request of this priority at once. */
export function hasRoom(model: ModelEntry, priority: number): boolean {
  const level = model.queue.levelIndexOf(priority);
  let usableLeft = model.policy.instancesInUseMax;
  for (const instance of model.instances) {
    if (!instance.takesLevel(level)) continue;
    if (usableLeft === 0) return false;
    usableLeft -= 1;
    if (instance.worker.hasCredit) return true;
  }
  return false;
}

/**
 * A suspect has to be alone on its worker from the start, and which request leads the next batch is known only when it
 * is taken: so nothing of its model joins a running worker until no suspect waits at the level that is next.
 */
function canBegin({ worker, model }: InstanceEntry): boolean {
  if (!worker.hasCredit || !hasRunFor(model, worker)) return false;
  return worker.outstanding.length === 0 || !model.policy.isConcurrent || !model.queue.isSuspectNext;
}

/** Whether a waiting request is of a caller that may begin a run on the worker. */
function hasRunFor({ queue, policy }: ModelEntry, worker: WorkerEntry): boolean {
  const { callerRunsMax } = policy;
  return (
    callerRunsMax === Number.POSITIVE_INFINITY || queue.hasAny(({ caller }) => worker.isOpenTo(caller, callerRunsMax))
  );
}

/** Closed, and on a worker that accepts work. */
function isTrusted({ breaker, worker }: InstanceEntry): boolean {
  return breaker.isClosed && worker.batchesMax > 0 && !worker.isCondemned;
}

/**
 * The one that finishes its work soonest; without measured times, or without work, the one with the fewest batches.
 * Then one that is reserved for urgent requests, since others can run what it may not; then the one with the fewest
 * recent failures, the one idle for longest, the lowest id.
 */
function isBetter(instance: InstanceEntry, best: InstanceEntry, nowMs: number): boolean {
  const { worker } = instance;
  const busyMs = worker.busyMs(nowMs);
  const bestBusyMs = best.worker.busyMs(nowMs);
  if (busyMs !== bestBusyMs) return busyMs < bestBusyMs;
  const batches = worker.outstanding.length - best.worker.outstanding.length;
  if (batches !== 0) return batches < 0;
  if (instance.priorityMax !== best.priorityMax) return instance.priorityMax < best.priorityMax;
  const failures = recentFailures(instance, nowMs) - recentFailures(best, nowMs);
  if (failures !== 0) return failures < 0;
  if (worker.idleSince !== best.worker.idleSince) return worker.idleSince < best.worker.idleSince;
  return worker.worker < best.worker.worker;
}

function recentFailures({ breaker }: InstanceEntry, nowMs: number): number {
  const failures = breaker.tally.failures(nowMs);
  return failures < failuresMin ? 0 : failures;
}
