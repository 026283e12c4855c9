/**
 * Budget: 3 µs a request for arrival, dispatch and answer together. Run with `npx vitest bench packages/core/src`.
 * One iteration is one turn of 64 requests, so divide by 64. The baseline beside it does what no scheduler can
 * avoid: keep 64 requests by id and return them in one array.
 */
import { bench, describe } from 'vitest';
import type { ArrivedRequest, SchedulerAction } from '../events.ts';
import { type ModelPolicy, openQueue, type QueuePolicy, resolveModelPolicy } from '../model-policy.ts';
import { Scheduler } from './scheduler.ts';

const inFlight = 64;
const policy = resolveModelPolicy({ rowsMax: 64, queueRequestsMax: 1024, queueBytesMax: 1e9, runMsMax: 60_000 });

function arrivedRequest(
  request: number,
  model: string,
  deadlineAt: number,
  caller: string,
  priority: number,
): ArrivedRequest {
  return {
    request,
    model,
    rows: 1,
    bytes: 256,
    group: 'input:FP32:64',
    deadlineAt,
    caller,
    priority,
    queueTimeoutMs: Infinity,
    isAlone: false,
  };
}

interface Shape {
  readonly rowsMax: number;
  readonly models: number;
  readonly workers: number;
  readonly batchesMax: number;
  readonly timeoutMs: number;
  readonly callers: number;
  readonly policy: Partial<ModelPolicy>;
}

const usual: Shape = {
  rowsMax: 64,
  models: 1,
  workers: 4,
  batchesMax: 64,
  timeoutMs: 30_000,
  callers: 1,
  policy: {},
};
const timed: QueuePolicy = { ...openQueue, timeoutMs: 10_000 };

/** A turn: 64 requests arrive, are dispatched and answered, in as many rounds as the workers' credit makes of it. */
function turnOf(shape: Shape): () => void {
  const scheduler = new Scheduler();
  const models = Array.from({ length: shape.models }, (_, index) => `mlp:${index}`);
  const callers = Array.from({ length: shape.callers }, (_, index) => `tenant-${index}`);
  for (const model of models) {
    scheduler.handle({ kind: 'model-added', model, policy: { ...policy, ...shape.policy, rowsMax: shape.rowsMax } }, 0);
    for (let worker = 1; worker <= shape.workers; worker++) {
      scheduler.handle({ kind: 'worker-credit', worker, batchesMax: shape.batchesMax }, 0);
      scheduler.handle({ kind: 'worker-serves', worker, model, priorityMax: Infinity }, 0);
    }
  }
  let request = 0;
  let nowMs = 0;
  return () => {
    nowMs += 1;
    for (let index = 0; index < inFlight; index++) {
      request += 1;
      const model = models[index % models.length] ?? '';
      const caller = callers[index % callers.length] ?? '';
      const arrived = arrivedRequest(request, model, nowMs + shape.timeoutMs, caller, index % 4);
      scheduler.handle({ kind: 'request-arrived', request: arrived }, nowMs);
    }
    do {
      scheduler.pump(nowMs);
      for (const action of scheduler.takeActions()) answer(scheduler, action, nowMs);
    } while (scheduler.counts().waitingRequests > 0);
  };
}

function answer(scheduler: Scheduler, action: SchedulerAction, nowMs: number): void {
  if (action.kind === 'dispatch') scheduler.handle({ kind: 'batch-answered', batch: action.batch }, nowMs);
}

function yardstick(): () => void {
  const requests = new Map<number, ArrivedRequest>();
  let request = 0;
  return () => {
    const queue: ArrivedRequest[] = [];
    for (let index = 0; index < inFlight; index++) {
      request += 1;
      const arrived = arrivedRequest(request, 'mlp:0', 30_000, '', 0);
      requests.set(request, arrived);
      queue.push(arrived);
    }
    for (const arrived of queue) requests.delete(arrived.request);
  };
}

describe('64 requests arrive, run and are answered', () => {
  bench('in one batch', turnOf({ ...usual, timeoutMs: Number.POSITIVE_INFINITY }));
  bench('in one batch, with deadlines', turnOf(usual));
  bench('in batches of 8', turnOf({ ...usual, rowsMax: 8 }));
  bench('in batches of 1', turnOf({ ...usual, rowsMax: 1 }));
  bench('for 64 models that share one worker', turnOf({ ...usual, models: 64, workers: 1, batchesMax: 1 }));
  bench('from 64 callers, in batches of 8', turnOf({ ...usual, rowsMax: 8, callers: 64 }));
  bench('at 3 priority levels', turnOf({ ...usual, policy: { queues: [openQueue, openQueue, openQueue] } }));
  bench('with a queue timeout', turnOf({ ...usual, policy: { queues: [timed] } }));
  bench('with preferred sizes and a delay', turnOf({ ...usual, policy: { preferredRows: [32, 64], delayMs: 5 } }));
  bench('with answers in order', turnOf({ ...usual, rowsMax: 8, policy: { isOrdered: true } }));
  bench('yardstick: a map and an array', yardstick());
});
