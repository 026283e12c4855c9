/** How a model is queued and batched: another policy for each revision. */
import { type ModelPolicy, type QueuePolicy, resolveModelPolicy, type SequencePolicy } from '@millrace/core';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { WorldModel } from './layout.ts';

/** Longer than any run and its messages, so that only runs that hang exceed it. */
const concurrentRunMsMin = 100;

export function policyFor({ isConcurrent, kind }: WorldModel, { random, weather }: SimulatedWorld): ModelPolicy {
  const isOrdered = random.chance(weather.orderedModel);
  const levels = !isOrdered && random.chance(weather.levelledModel) ? random.integer(2, 3) : 1;
  const rowsMax = kind === 'decoupled' ? 1 : isConcurrent ? random.pick([3, 4]) : random.pick([3, 4, 8]);
  const runMsMax = isConcurrent ? random.integer(concurrentRunMsMin, 200) : random.integer(50, 150);
  return resolveModelPolicy({
    rowsMax,
    queueRequestsMax: random.chance(0.2) ? random.integer(1, 10) : 1000,
    queueBytesMax: random.chance(0.2) ? random.integer(100, 500) : 100_000,
    runMsMax,
    waitMsMax: weather.limitedWait > 0 && random.chance(weather.limitedWait) ? random.integer(1, 100) : Infinity,
    delayMs: random.chance(weather.delayingModel) ? random.integer(1, 40) : 0,
    preferredRows: rowsMax === 1 ? [] : random.pick([[], [], [2], [rowsMax], [2, 3]]),
    isOrdered,
    queues: Array.from({ length: levels }, () => queuePolicy(isOrdered, random, weather)),
    priorityDefault: random.integer(1, levels),
    weight: random.pick([1, 1, 2, 4]),
    isConcurrent,
  });
}

function queuePolicy(
  isOrdered: boolean,
  random: SimulatedWorld['random'],
  weather: SimulatedWorld['weather'],
): QueuePolicy {
  return {
    requestsMax: random.chance(weather.boundedLevel) ? random.integer(1, 10) : Infinity,
    timeoutMs: random.chance(weather.timedQueue) ? random.integer(1, 100) : Infinity,
    timeoutAction: !isOrdered && random.chance(0.5) ? 'delay' : 'refuse',
    allowsTimeoutOverride: random.chance(0.5),
  };
}

export function sequencesFor({ name }: WorldModel, { random }: SimulatedWorld): SequencePolicy {
  return {
    modelName: name,
    slotsMax: random.integer(1, 4),
    backlogSequencesMax: random.integer(0, 4),
    idleMsMax: random.integer(50, 2000),
    slotWaitMsMax: random.chance(0.5) ? Infinity : random.integer(50, 500),
    waitingStepsMax: random.integer(2, 20),
    waitingBytesMax: 10_000,
  };
}
