import { describe, expect, test } from 'vitest';
import { chooseSharedWorker } from './shared-worker-choice.ts';
import { defaultSharingPolicy, resolveSharingPolicy } from './sharing-policy.ts';
import { type RunsMeasured, SmallModels } from './small-models.ts';

const quick: RunsMeasured = { runs: 100, shortestMs: 5, busyMs: 50, periodMs: 1000, hasNeighbours: true };

function smallModels(): SmallModels {
  return new SmallModels(defaultSharingPolicy);
}

describe('a model shares workers until it is found to be too large for that', () => {
  test('by its files', () => {
    const models = smallModels();
    expect(models.reasonForOwn('a', 16 * 1024 * 1024)).toBeUndefined();
    expect(models.reasonForOwn('a', 16 * 1024 * 1024 + 1)).toBe('its files have 16777217 bytes, more than 16777216');
  });

  test('by its load', () => {
    const models = smallModels();
    expect(models.noteLoaded('a', 100)).toBeUndefined();
    expect(models.noteLoaded('a', 101)).toBe('its load took 101 ms, more than 100');
    expect(models.reasonForOwn('a', 1)).toBe('its load took 101 ms, more than 100');
    expect(models.reasonForOwn('b', 1)).toBeUndefined();
  });

  test('by its runs, when even the shortest is long; of very long ones two are enough', () => {
    const models = smallModels();
    expect(models.noteRuns('a', quick)).toBeUndefined();
    expect(models.noteRuns('a', { ...quick, runs: 7, shortestMs: 50 })).toBeUndefined();
    const reason = 'its runs take 5.1 ms or more; the limit is 5';
    expect(models.noteRuns('a', { ...quick, runs: 8, shortestMs: 5.1 })).toBe(reason);
    expect(models.noteRuns('b', { ...quick, runs: 1, shortestMs: 51 })).toBeUndefined();
    expect(models.noteRuns('b', { ...quick, runs: 2, shortestMs: 51 })).toMatch('51.0 ms or more');
  });

  test('by the time that it takes from its neighbours, if it has any', () => {
    const models = smallModels();
    const busy = { ...quick, runs: 1000, busyMs: 501 };
    expect(models.noteRuns('a', { ...busy, hasNeighbours: false })).toBeUndefined();
    expect(models.noteRuns('a', { ...busy, busyMs: 500 })).toBeUndefined();
    expect(models.noteRuns('a', { ...busy, busyMs: 700 })).toBe("it uses 70 % of its worker's time, more than 50 %");
  });

  test('by the end of its worker: at once for a crash, the second time for a kill that others may have caused', () => {
    const models = smallModels();
    expect(models.noteWorkerEnded('a', 'crashed', 0)).toBe('its worker crashed while it ran');
    expect(models.noteWorkerEnded('b', 'ended-by-router', 0)).toMatch('time limit');
    expect(models.noteWorkerEnded('c', 'killed', 0)).toBeUndefined();
    expect(models.noteWorkerEnded('c', 'killed', 599_999)).toBe('its worker was killed 2 times while it ran');
    expect(models.noteWorkerEnded('d', 'killed', 0)).toBeUndefined();
    expect(models.noteWorkerEnded('d', 'killed', 600_000)).toBeUndefined();
  });

  test('it counts as measured after as many runs as are needed to call it small, until it is found to be too large', () => {
    const models = smallModels();
    models.noteRuns('a', { ...quick, runs: 7 });
    expect(models.isMeasured('a')).toBe(false);
    models.noteRuns('a', { ...quick, runs: 8 });
    expect(models.isMeasured('a')).toBe(true);
    expect(models.isMeasured('b')).toBe(false);
    models.noteRuns('b', { ...quick, runs: 8, shortestMs: 5.1 });
    expect(models.isMeasured('b')).toBe(false);
    models.noteRuns('b', { ...quick, runs: 9 });
    expect(models.isMeasured('b')).toBe(false);
    models.noteWorkerEnded('a', 'crashed', 0);
    expect(models.isMeasured('a')).toBe(false);
    models.noteRuns('c', quick);
    models.forget('c');
    expect(models.isMeasured('c')).toBe(false);
  });

  test('the reason is told once, and forgotten with the files', () => {
    const models = smallModels();
    expect(models.noteLoaded('a', 200)).toBeDefined();
    expect(models.noteLoaded('a', 300)).toBeUndefined();
    expect(models.reasonForOwn('a', 1)).toBe('its load took 200 ms, more than 100');
    models.forget('a');
    expect(models.reasonForOwn('a', 1)).toBeUndefined();
  });
});

describe('the worker that gets a further model', () => {
  const policy = resolveSharingPolicy({ spreadWorkers: 2, modelsMax: 3 });

  test.each([
    { models: [], chosen: undefined, why: 'the first' },
    { models: [1], chosen: undefined, why: 'a second worker before a second model' },
    { models: [0], chosen: 0, why: 'an empty one' },
    { models: [1, 1], chosen: 0, why: 'the first of equals' },
    { models: [2, 1], chosen: 1, why: 'the emptiest' },
    { models: [3, 3], chosen: undefined, why: 'a new one when all are full' },
    { models: [3, 3, 2], chosen: 2, why: 'the one with room' },
  ])('$why: $models', ({ models, chosen }) => {
    expect(chooseSharedWorker(models, policy)).toBe(chosen);
  });
});
