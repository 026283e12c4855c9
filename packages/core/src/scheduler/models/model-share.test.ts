import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../../model-policy.ts';
import { Scheduler } from '../scheduler.ts';
import { defaultSchedulerConfig } from '../scheduler-config.ts';

interface Model {
  /** Its runs take these times in turn. */
  readonly runMs: readonly number[];
  readonly weight: number;
}

/** Worker time of each model while all of them always have something waiting for the one worker. */
function timesUsed(models: readonly Model[], batchesMax: number, runs: number): number[] {
  const scheduler = new Scheduler();
  let nowMs = 0;
  let request = 0;
  const arrive = (model: number) => {
    request += 1;
    scheduler.handle(
      {
        kind: 'request-arrived',
        request: {
          request,
          model: `${model}`,
          rows: 1,
          bytes: 1,
          group: '',
          deadlineAt: Infinity,
          caller: '',
          priority: 0,
          queueTimeoutMs: Infinity,
          isAlone: false,
        },
      },
      nowMs,
    );
  };
  for (const [index, { weight }] of models.entries()) {
    const bounds = { rowsMax: 1, queueRequestsMax: 1e6, queueBytesMax: 1e6, runMsMax: Infinity };
    scheduler.handle({ kind: 'model-added', model: `${index}`, policy: resolveModelPolicy({ ...bounds, weight }) }, 0);
    scheduler.handle({ kind: 'worker-serves', worker: 1, model: `${index}`, priorityMax: Infinity }, 0);
    for (let count = 0; count < 10; count++) arrive(index);
  }
  scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax }, 0);
  const used = models.map(() => 0);
  const held: { batch: number; model: number }[] = [];
  for (let run = 0; run < runs; run++) {
    scheduler.pump(nowMs);
    for (const action of scheduler.takeActions()) {
      if (action.kind !== 'dispatch') continue;
      held.push({ batch: action.batch, model: Number(action.model) });
      arrive(Number(action.model));
    }
    const running = held.shift();
    if (running === undefined) throw new Error('the worker idles');
    const { runMs: times } = models[running.model] as Model;
    const runMs = times[running.batch % times.length] as number;
    nowMs += runMs;
    used[running.model] = (used[running.model] ?? 0) + runMs;
    scheduler.handle({ kind: 'batch-answered', batch: running.batch }, nowMs);
  }
  return used;
}

test('models that always want the same worker get its time by their weights, whatever their runs cost', () => {
  const runMs = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 7 });
  const model = fc.record({ runMs, weight: fc.constantFrom(0.5, 1, 2, 4) });
  fc.assert(
    fc.property(fc.array(model, { minLength: 2, maxLength: 4 }), fc.constantFrom(1, 2), (models, batchesMax) => {
      const shares = timesUsed(models, batchesMax, 2000).map((ms, index) => ms / (models[index]?.weight ?? 1));
      const runMsMax = Math.max(...models.map(({ runMs, weight }) => Math.max(...runMs) / weight));
      // A round, and what can be on its way before the first run of a model has been measured.
      const bound = 2 * defaultSchedulerConfig.modelQuantumMs + (batchesMax + 1) * runMsMax;
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(bound);
    }),
    { seed: 1, numRuns: 100 },
  );
});

test('a model that had the worker to itself owes nothing to one that comes later', () => {
  const scheduler = new Scheduler();
  const policy = resolveModelPolicy({ rowsMax: 1, queueRequestsMax: 100, queueBytesMax: 100, runMsMax: Infinity });
  const arrived = {
    rows: 1,
    bytes: 1,
    group: '',
    deadlineAt: Infinity,
    caller: '',
    priority: 0,
    queueTimeoutMs: Infinity,
    isAlone: false,
  };
  for (const model of ['old', 'new']) {
    scheduler.handle({ kind: 'model-added', model, policy }, 0);
    scheduler.handle({ kind: 'worker-serves', worker: 1, model, priorityMax: Infinity }, 0);
  }
  scheduler.handle({ kind: 'worker-credit', worker: 1, batchesMax: 1 }, 0);
  let nowMs = 0;
  for (let run = 1; run <= 100; run++) {
    scheduler.handle({ kind: 'request-arrived', request: { ...arrived, request: run, model: 'old' } }, nowMs);
    scheduler.pump(nowMs);
    nowMs += 50;
    scheduler.handle({ kind: 'batch-answered', batch: run }, nowMs);
  }
  scheduler.takeActions();
  const models = ['old', 'new', 'old', 'new'];
  for (const [index, model] of models.entries()) {
    scheduler.handle({ kind: 'request-arrived', request: { ...arrived, request: index, model } }, nowMs);
  }
  const order: string[] = [];
  for (let run = 101; run <= 104; run++) {
    scheduler.pump(nowMs);
    for (const action of scheduler.takeActions()) if (action.kind === 'dispatch') order.push(action.model);
    nowMs += 50;
    scheduler.handle({ kind: 'batch-answered', batch: run }, nowMs);
  }
  expect(order.slice(0, 3).filter((model) => model === 'old').length).toBeGreaterThan(0);
  expect(order.filter((model) => model === 'old')).toHaveLength(2);
  expect(order).toHaveLength(4);
});
