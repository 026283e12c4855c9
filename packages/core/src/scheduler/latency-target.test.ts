import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../model-policy.ts';
import { Scheduler } from './scheduler.ts';

/** Of a batch with so many rows, while so many workers are busy. */
type RunTime = (rows: number, busy: number) => number;

interface Run {
  readonly batch: number;
  readonly rows: number;
}

/** A scheduler under full load in virtual time: each worker runs its batches in order. */
function loaded(latencyTargetMs: number, workers: number, runMs: RunTime, forMs: number): Scheduler {
  const scheduler = new Scheduler();
  const bounds = { rowsMax: 32, queueRequestsMax: 100_000, queueBytesMax: 1e9, runMsMax: 1e6 };
  scheduler.handle(
    { kind: 'model-added', model: 'm:1', policy: resolveModelPolicy({ ...bounds, latencyTargetMs }) },
    0,
  );
  for (let worker = 1; worker <= workers; worker++) {
    scheduler.handle({ kind: 'worker-credit', worker, batchesMax: 2 }, 0);
    scheduler.handle({ kind: 'worker-serves', worker, model: 'm:1', priorityMax: Infinity }, 0);
  }
  const held = new Map<number, Run[]>();
  const endsAt = new Map<number, number>();
  const busy = (): number => [...held.values()].filter((runs) => runs.length > 0).length;
  let request = 0;
  for (let nowMs = 0; nowMs < forMs; nowMs += 0.25) {
    for (const [worker, runs] of held) {
      const running = runs[0];
      if (running === undefined || nowMs < (endsAt.get(worker) ?? 0)) continue;
      runs.shift();
      scheduler.handle({ kind: 'batch-answered', batch: running.batch }, nowMs);
      const next = runs[0];
      if (next !== undefined) endsAt.set(worker, nowMs + runMs(next.rows, busy()));
    }
    while (scheduler.waitingFor('m:1') < 100) {
      request += 1;
      const arrived = { request, model: 'm:1', rows: 1, bytes: 1, group: '', deadlineAt: Infinity };
      const whose = { caller: '', priority: 0, queueTimeoutMs: Infinity, isAlone: false };
      scheduler.handle({ kind: 'request-arrived', request: { ...arrived, ...whose } }, nowMs);
    }
    scheduler.pump(nowMs);
    for (const action of scheduler.takeActions()) {
      if (action.kind !== 'dispatch') continue;
      const runs = held.get(action.worker) ?? [];
      held.set(action.worker, runs);
      runs.push({ batch: action.batch, rows: action.requests.length });
      if (runs.length === 1) endsAt.set(action.worker, nowMs + runMs(action.requests.length, busy()));
    }
  }
  return scheduler;
}

test('batches grow up to what the latency target allows', () => {
  // Two runs of a batch of 16 take 2 * (2 + 16) = 36 ms, and 40 ms are allowed from dispatch to answer.
  const [queue] = loaded(60, 1, (rows) => 2 + rows, 60_000).queues();
  expect(queue?.batchRowsMax).toBeGreaterThanOrEqual(13);
  expect(queue?.batchRowsMax).toBeLessThanOrEqual(19);
});

test('a target that full batches meet limits nothing in the end', () => {
  const [queue] = loaded(500, 1, (rows) => 1 + rows / 8, 16_000).queues();
  expect(queue?.batchRowsMax).toBe(32);
});

test('instances that only hinder each other are not all used', () => {
  // One core: with four at work, each takes four times as long, and within the target only small batches are possible.
  const [queue] = loaded(60, 4, (rows, busy) => busy * (2 + rows), 120_000).queues();
  expect(queue?.instancesInUse).toBeLessThan(4);
  expect(queue?.batchRowsMax).toBeGreaterThan(4);
});

test('a model without a target has its whole batches and all its instances at once', () => {
  const [queue] = loaded(Infinity, 2, (rows) => 2 + rows, 10).queues();
  expect([queue?.batchRowsMax, queue?.instancesInUse]).toEqual([32, 2]);
});
