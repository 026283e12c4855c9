import { expect, test } from 'vitest';
import { bestFixed, FullLoad, type SimulatedBatch, type SimulatedModel } from '../testing/simulated-model.ts';
import { AdaptiveBatching, adaptivePace, serviceShare } from './adaptive-batching.ts';

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Outcome {
  readonly rowsPerMs: number;
  /** Share of the batches that were over the budget. */
  readonly missShare: number;
  readonly controller: AdaptiveBatching;
}

/** Lets the controller settle, then measures the second half. */
function settle(model: SimulatedModel, targetMs: number, rowsMax: number, instancesMax: number): Outcome {
  const controller = new AdaptiveBatching({ targetMs, rowsMax, instancesMax });
  const load = new FullLoad(seededRandom(6));
  const runMs = 400_000;
  load.run(model, controller, runMs / 2, () => {});
  const batches: SimulatedBatch[] = [];
  load.run(model, controller, runMs, (batch) => batches.push(batch));
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const misses = batches.filter(({ latencyMs }) => latencyMs > targetMs * serviceShare).length;
  return { rowsPerMs: (2 * rows) / runMs, missShare: misses / batches.length, controller };
}

test.each<[string, SimulatedModel, number, number, number]>([
  ['a model whose runs cost more than its rows', { runMs: 4, rowMs: 0.1, cores: 4 }, 30, 64, 4],
  ['a model whose rows are all that costs', { runMs: 0.1, rowMs: 1, cores: 2 }, 60, 64, 2],
  ['more instances than cores', { runMs: 2, rowMs: 0.5, cores: 2 }, 40, 32, 8],
  ['a target that full batches meet', { runMs: 1, rowMs: 0.05, cores: 4 }, 100, 32, 2],
])(
  '%s: it comes within a fifth of the best fixed choice and stays within the target',
  (_, model, target, rows, most) => {
    const { rowsPerMs, missShare } = settle(model, target, rows, most);
    const best = bestFixed(model, rows, most, target * serviceShare);
    expect(rowsPerMs).toBeGreaterThan(0.8 * best.rowsPerMs);
    expect(missShare).toBeLessThan(0.02);
  },
);

test('a target that cannot be met leads to single rows, on as few instances as possible', () => {
  const { controller } = settle({ runMs: 50, rowMs: 1, cores: 1 }, 20, 32, 4);
  expect(controller.rows).toBe(1);
  expect(controller.instances).toBe(1);
});

test('a model that becomes slower gets smaller batches within a few windows', () => {
  const controller = new AdaptiveBatching({ targetMs: 60, rowsMax: 64, instancesMax: 1 });
  const load = new FullLoad(seededRandom(6));
  load.run({ runMs: 1, rowMs: 0.4, cores: 1 }, controller, 200_000, () => {});
  const before = controller.rows;
  expect(before).toBeGreaterThan(30);
  let late = 0;
  const slow = { runMs: 2, rowMs: 0.8, cores: 1 };
  load.run(slow, controller, 240_000, ({ latencyMs }) => {
    if (latencyMs > 60 * serviceShare) late += 1;
  });
  expect(controller.rows).toBeLessThan(0.6 * before);
  expect(late).toBeLessThan(6 * adaptivePace.windowBatches);
});

test('a model that becomes faster again gets its large batches back', () => {
  const controller = new AdaptiveBatching({ targetMs: 60, rowsMax: 64, instancesMax: 1 });
  const load = new FullLoad(seededRandom(6));
  load.run({ runMs: 2, rowMs: 0.8, cores: 1 }, controller, 200_000, () => {});
  expect(controller.rows).toBeLessThan(26);
  load.run({ runMs: 1, rowMs: 0.4, cores: 1 }, controller, 300_000, () => {});
  expect(controller.rows).toBeGreaterThan(36);
});

test('added instances are used, and removed ones are not counted', () => {
  const controller = new AdaptiveBatching({ targetMs: 60, rowsMax: 64, instancesMax: 1 });
  controller.setInstancesMax(4);
  expect(controller.instances).toBe(4);
  controller.setInstancesMax(2);
  expect(controller.instances).toBe(2);
  controller.setInstancesMax(0);
  expect(controller.instances).toBe(2);
});

test('without load nothing is learned and nothing changed', () => {
  const controller = new AdaptiveBatching({ targetMs: 60, rowsMax: 64, instancesMax: 2 });
  const load = new FullLoad(seededRandom(6));
  load.run({ runMs: 1, rowMs: 0.1, cores: 2 }, controller, 20_000, () => {});
  const before = controller.rows;
  expect(before).toBeGreaterThan(8);
  for (let batch = 0; batch < 1000; batch++) controller.noteBatch(1, 2, 20_000 + 10 * batch);
  expect(controller.rows).toBe(before);
  expect(controller.instances).toBe(2);
});
