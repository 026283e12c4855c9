/** Composes the data plane. Each kind of user gets its own interface; what these share is inside. */

import { HeldByRunners } from './held-by-runners.ts';
import { Inference } from './inference.ts';
import { ModelObservers } from './model-observers.ts';
import { ModelQueue } from './model-queue.ts';
import { LiveModelRoster, type ModelRoster } from './model-roster.ts';
import { RequestRouting, type RequestRoutingParts } from './request-routing.ts';
import { RetiringModels } from './retiring-models.ts';
import { SchedulerLoop, type SchedulerLoopParts } from './scheduler-loop.ts';
import { SlicedWork } from './sliced-work/sliced-work.ts';
import type { ModelNames } from './traffic/model-names.ts';
import { NameResolution, plainNames } from './traffic/name-resolution.ts';
import { ShadowTraffic, type ShadowTrafficParts } from './traffic/shadow-traffic.ts';
import type { WorkInspection } from './work-inspection.ts';
import type { WorkerEvents } from './worker-events.ts';

/** `demand`: where requests for versions that are not in memory wait. */
export interface LiveDataPlaneParts
  extends Pick<SchedulerLoopParts, 'scheduler' | 'clock' | 'pendingObserver' | 'heldAnswerBytesMax'>,
    Pick<RequestRoutingParts, 'models' | 'observer' | 'demand'> {
  /** Resolves names other than a model's own (labels, splits); absent: there are none. */
  readonly names?: ModelNames;
  /** Copies of requests for shadows; absent: none are sent. */
  readonly shadows?: Omit<ShadowTrafficParts, 'infer' | 'deadlineAfter' | 'sliced'>;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly onSharingStopped?: SchedulerLoopParts['onSharingStopped'];
}

export interface LiveDataPlane {
  /** For edges and other callers. */
  readonly inference: Inference;
  /** For the worker fleet. */
  readonly workers: WorkerEvents;
  /** For the loading and unloading of models. */
  readonly roster: ModelRoster;
  /** For operators and metrics. */
  readonly inspection: WorkInspection;
  /** The queues of all models, for the runners on top of them. */
  readonly queue: ModelQueue;
  /** For all work on bytes that is too long for one turn of the event loop. */
  readonly sliced: SlicedWork;
  /** Cancels the copies for shadows: they must not delay shutdown. */
  endShadows(): void;
  /** Refuses new requests; resolves when the last one is answered. */
  drain(): Promise<void>;
}

export function createDataPlane(parts: LiveDataPlaneParts): LiveDataPlane {
  const { scheduler, models, clock, observer, demand, random } = parts;
  const observers = new ModelObservers(observer);
  const heldByRunners = new HeldByRunners(clock);
  const retiring = new RetiringModels();
  const sliced = new SlicedWork(clock);
  const loop = new SchedulerLoop({
    scheduler,
    clock,
    observers,
    retiring,
    sliced,
    pendingObserver: parts.pendingObserver,
    heldAnswerBytesMax: parts.heldAnswerBytesMax,
    onSharingStopped: parts.onSharingStopped ?? (() => {}),
    infer: (request, signal, fit) => inference.inferPart(request, signal, fit),
    moveToSuccessor: (request, waiter) => routing.moveToSuccessor(request, waiter),
  });
  const queue = new ModelQueue(loop, sliced);
  const shadows =
    parts.shadows &&
    new ShadowTraffic({
      ...parts.shadows,
      sliced,
      infer: (request, signal) => inference.inferResolved(request, signal),
      deadlineAfter: (timeoutMs) => inference.deadlineAfter(timeoutMs),
    });
  const routing = new RequestRouting({
    models,
    demand,
    loop,
    queue,
    retiring,
    heldByRunners,
    observer,
    observers,
    clock,
    sliced,
  });
  const names = new NameResolution({ names: parts.names ?? plainNames, models, retiring, random });
  const inference = new Inference({ names, shadows, models, routing, loop, observer, clock });
  return {
    inference,
    workers: loop,
    roster: new LiveModelRoster(loop, retiring, heldByRunners),
    inspection: loop,
    queue,
    sliced,
    endShadows: () => shadows?.close(),
    // Runners first: what they hold submits parts, which the scheduler refuses once it drains.
    drain: () => routing.drain()?.then(() => loop.drain()) ?? loop.drain(),
  };
}
