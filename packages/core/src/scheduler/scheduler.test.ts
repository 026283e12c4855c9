import { describe, expect, test } from 'vitest';
import type { ArrivedRequest, SchedulerAction } from '../events.ts';
import { resolveModelPolicy } from '../model-policy.ts';
import { Scheduler } from './scheduler.ts';

const policy = resolveModelPolicy({ rowsMax: 1, queueRequestsMax: 1000, queueBytesMax: 1e6, runMsMax: 1000 });

function arrivedRequest(request: number, fields: Partial<ArrivedRequest> = {}): ArrivedRequest {
  return {
    request,
    model: 'mlp',
    rows: 1,
    bytes: 1,
    group: 'a',
    deadlineAt: Infinity,
    caller: '',
    priority: 0,
    queueTimeoutMs: Infinity,
    isAlone: false,
    ...fields,
  };
}

function arrive(scheduler: Scheduler, request: number, fields: Partial<ArrivedRequest> = {}): void {
  scheduler.handle({ kind: 'request-arrived', request: arrivedRequest(request, fields) }, 0);
}

function pumped(scheduler: Scheduler, nowMs = 0): SchedulerAction['kind'][] {
  scheduler.pump(nowMs);
  return scheduler.takeActions().map((action) => action.kind);
}

function schedulerWith(options: ConstructorParameters<typeof Scheduler>[0] = {}): Scheduler {
  const scheduler = new Scheduler(options);
  scheduler.handle({ kind: 'model-added', model: 'mlp', policy }, 0);
  return scheduler;
}

describe('limits', () => {
  test('more models than modelsMax are a defect of the caller; a removed one makes room', () => {
    const scheduler = schedulerWith({ modelsMax: 1 });
    expect(() => scheduler.handle({ kind: 'model-added', model: 'bert', policy }, 0)).toThrow('modelsMax');
    scheduler.handle({ kind: 'model-removed', model: 'mlp' }, 0);
    scheduler.handle({ kind: 'model-added', model: 'bert', policy }, 0);
    expect(scheduler.counts().models).toBe(1);
  });

  test('more workers than workersMax are a defect of the caller; a dead one makes room', () => {
    const scheduler = schedulerWith({ workersMax: 1 });
    scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax: 1 }, 0);
    expect(() => scheduler.handle({ kind: 'worker-credit', worker: 2, batchesMax: 1 }, 0)).toThrow('workersMax');
    scheduler.handle({ kind: 'worker-gone', worker: 1, isKilled: false }, 0);
    scheduler.handle({ kind: 'worker-credit', worker: 2, batchesMax: 1 }, 0);
    expect(scheduler.counts().workers).toBe(1);
  });

  test.each([
    [Number.NaN, 0],
    [-3, 0],
    [0.5, 0],
    [1.9, 1],
    [3, 3],
    [1e9, 3],
    [Number.POSITIVE_INFINITY, 3],
  ])('a credit of %d means %d batches when batchesPerWorkerMax is 3', (batchesMax, dispatched) => {
    const scheduler = schedulerWith({ batchesPerWorkerMax: 3 });
    scheduler.handle({ kind: 'worker-serves', worker: 1, model: 'mlp', priorityMax: Infinity }, 0);
    for (let request = 1; request <= 5; request++) arrive(scheduler, request);
    scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax }, 0);
    expect(pumped(scheduler).filter((kind) => kind === 'dispatch')).toHaveLength(dispatched);
  });

  test('requests that return from a dead worker are not refused by a queue that filled up meanwhile', () => {
    const scheduler = schedulerWith();
    scheduler.handle({ kind: 'model-added', model: 'mlp', policy: { ...policy, queueRequestsMax: 2 } }, 0);
    scheduler.handle({ kind: 'worker-serves', worker: 1, model: 'mlp', priorityMax: Infinity }, 0);
    scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax: 2 }, 0);
    for (const request of [1, 2]) arrive(scheduler, request);
    scheduler.pump(0);
    for (const request of [3, 4]) arrive(scheduler, request);
    scheduler.takeActions();
    scheduler.handle({ kind: 'worker-gone', worker: 1, isKilled: false }, 0);
    expect(scheduler.takeActions()).toEqual([]);
    expect(scheduler.waitingFor('mlp')).toBe(4);
  });
});

describe('the caller is wrong', () => {
  test('a request id that is still in use stops the process', () => {
    const scheduler = schedulerWith();
    arrive(scheduler, 1);
    expect(() => arrive(scheduler, 1)).toThrow('a request id is used once at a time');
  });

  test('so does a request without rows, and a model that could take none', () => {
    const scheduler = schedulerWith();
    expect(() => arrive(scheduler, 1, { rows: 0 })).toThrow('at least one row');
    const none = { ...policy, rowsMax: 0 };
    expect(() => scheduler.handle({ kind: 'model-added', model: 'none', policy: none }, 0)).toThrow(
      'rowsMax and queueRequestsMax are at least 1',
    );
  });
});

test('an id may be used again once its request has its answer', () => {
  const scheduler = schedulerWith();
  arrive(scheduler, 1);
  scheduler.handle({ kind: 'request-cancelled', request: 1, reason: 'cancelled' }, 0);
  arrive(scheduler, 1);
  expect(scheduler.takeActions().map((action) => action.kind)).toEqual(['refuse']);
  expect(scheduler.counts().waitingRequests).toBe(1);
});

test('the counts follow a request from queue to worker to answer', () => {
  const scheduler = schedulerWith();
  scheduler.handle({ kind: 'worker-serves', worker: 1, model: 'mlp', priorityMax: Infinity }, 0);
  scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax: 1 }, 0);
  const still = { workers: 1, models: 1 };
  arrive(scheduler, 1, { bytes: 30 });
  expect(scheduler.counts()).toEqual({
    ...still,
    waitingRequests: 1,
    waitingBytes: 30,
    runningRequests: 0,
    outstandingBatches: 0,
  });
  scheduler.pump(0);
  expect(scheduler.counts()).toMatchObject({ ...still, waitingBytes: 0, runningRequests: 1, outstandingBatches: 1 });
  scheduler.handle({ kind: 'batch-answered', batch: 1 }, 0);
  expect(scheduler.counts()).toMatchObject({ ...still, waitingRequests: 0, runningRequests: 0, outstandingBatches: 0 });
});

test('a stream of short requests with long deadlines seldom requests a wake-up', () => {
  const scheduler = schedulerWith();
  scheduler.handle({ kind: 'worker-serves', worker: 1, model: 'mlp', priorityMax: Infinity }, 0);
  scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax: 1 }, 0);
  let wakeCount = 0;
  for (let turn = 1; turn <= 3000; turn++) {
    const request = arrivedRequest(turn, { deadlineAt: turn + 1000 });
    scheduler.handle({ kind: 'request-arrived', request }, turn);
    wakeCount += pumped(scheduler, turn).filter((kind) => kind === 'wake-at').length;
    scheduler.handle({ kind: 'batch-answered', batch: turn }, turn);
  }
  expect(wakeCount).toBe(3);
});
