/**
 * Budget: 3 µs a request for arrival, dispatch and answer together. Run with `npx vitest bench packages/core/src`.
 * One iteration is one turn of 64 requests, so divide by 64. The yardstick beside it does what no scheduler can do
 * without: remember 64 requests by id and hand them out in one array.
 */
import { bench, describe } from 'vitest';
import type { ArrivedRequest, SchedulerAction } from '../events.ts';
import { Scheduler } from './scheduler.ts';

const inFlight = 64;
const limits = { rowsMax: 64, queueRequestsMax: 1024, queueBytesMax: 1e9, runMsMax: 60_000 };

function arrivedRequest(request: number, deadlineAt: number): ArrivedRequest {
  return { request, model: 'mlp:1', rows: 1, bytes: 256, group: 'input:FP32:64', deadlineAt };
}

/** A turn on four workers: 64 requests arrive, are dispatched and answered. */
function turnOf(rowsMax: number, timeoutMs: number): () => void {
  const scheduler = new Scheduler();
  scheduler.handle({ kind: 'model-added', model: 'mlp:1', limits: { ...limits, rowsMax } }, 0);
  for (let worker = 1; worker <= 4; worker++) {
    scheduler.handle({ kind: 'worker-credit', worker, batchesMax: 64 }, 0);
    scheduler.handle({ kind: 'worker-serves', worker, model: 'mlp:1' }, 0);
  }
  let request = 0;
  let nowMs = 0;
  return () => {
    nowMs += 1;
    for (let index = 0; index < inFlight; index++) {
      request += 1;
      scheduler.handle({ kind: 'request-arrived', request: arrivedRequest(request, nowMs + timeoutMs) }, nowMs);
    }
    scheduler.pump(nowMs);
    for (const action of scheduler.takeActions()) answer(scheduler, action, nowMs);
    scheduler.pump(nowMs);
    scheduler.takeActions();
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
      const arrived = arrivedRequest(request, 30_000);
      requests.set(request, arrived);
      queue.push(arrived);
    }
    for (const arrived of queue) requests.delete(arrived.request);
  };
}

describe('64 requests arrive, run and are answered', () => {
  bench('in one batch', turnOf(64, Number.POSITIVE_INFINITY));
  bench('in one batch, with deadlines', turnOf(64, 30_000));
  bench('in batches of 8', turnOf(8, 30_000));
  bench('in batches of 1', turnOf(1, 30_000));
  bench('yardstick: a map and an array', yardstick());
});
