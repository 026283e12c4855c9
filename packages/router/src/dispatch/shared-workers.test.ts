import { resolveSharingPolicy } from '@millrace/core';
import { expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { ScriptedLane } from '../data-plane/testing/scripted-lane.ts';
import type { RunningGroup } from './running-group.ts';
import { type SharedModels, SharedWorkers } from './shared-workers.ts';
import type { GroupedModel, GroupListener } from './worker-group.ts';

const listener: GroupListener = { modelServable: () => {}, modelUnservable: () => {}, settled: () => {} };
const lane = new ScriptedLane();

/** Shared workers that only count: the names of the models of each, by the worker's name. */
class CountedWorkers {
  readonly models = new Map<string, Set<string>>();
  readonly #shared: SharedWorkers;

  constructor(spreadWorkers: number) {
    this.#shared = new SharedWorkers({
      policy: resolveSharingPolicy({ spreadWorkers }),
      start: ({ name }) => {
        const held = new Set<string>();
        this.models.set(name, held);
        const running: Pick<RunningGroup, 'name' | 'modelCount' | 'join' | 'leave'> = {
          name,
          get modelCount() {
            return held.size;
          },
          join: ({ model }) => void held.add(model.view.name),
          leave: async ({ view }) => void held.delete(view.name),
        };
        return running as RunningGroup;
      },
      stop: async ({ name }) => void this.models.delete(name),
    });
  }

  add(name: string, isMeasured = false): SharedModels {
    const inputs = [{ name: 'x', datatype: 'INT32' as const, shape: [-1, 1] }];
    const models = [{ model: servedModel(inputs, inputs, { name }) } as GroupedModel];
    return this.#shared.add({ name, lane, workers: 1, models, isRetry: false, listener, isShared: true, isMeasured });
  }

  list(): readonly string[] {
    return [...this.models.values()].map((held) => [...held].join(' '));
  }
}

test('models whose runs are known to be short have other workers than those that were never run', () => {
  const workers = new CountedWorkers(1);
  const [a] = [workers.add('a'), workers.add('b')];
  expect(a.hasUnmeasuredNeighbours).toBe(true);
  const c = workers.add('c', true);
  workers.add('d');
  workers.add('e', true);
  expect(workers.list()).toEqual(['a b d', 'c e']);
  expect(c.hasNeighbours).toBe(true);
  expect(c.hasUnmeasuredNeighbours).toBe(false);
});

test('a worker is for measured models when the last of its models was measured', () => {
  const workers = new CountedWorkers(1);
  const [a, b] = [workers.add('a'), workers.add('b')];
  a.noteMeasured();
  a.noteMeasured();
  expect([a.hasUnmeasuredNeighbours, b.hasUnmeasuredNeighbours]).toEqual([true, false]);
  workers.add('c');
  expect(workers.list()).toEqual(['a b c']);
  b.noteMeasured();
  expect(a.hasUnmeasuredNeighbours).toBe(true);
});

test('a model that was never run and leaves counts no more', async () => {
  const workers = new CountedWorkers(1);
  const [a, b] = [workers.add('a'), workers.add('b')];
  a.noteMeasured();
  await b.leave();
  expect(a.hasUnmeasuredNeighbours).toBe(false);
  workers.add('c');
  workers.add('d', true);
  expect(workers.list()).toEqual(['a d', 'c']);
});

test('there are as many workers of each kind as models are spread over', () => {
  const workers = new CountedWorkers(2);
  for (const name of ['a', 'b', 'c']) workers.add(name);
  for (const name of ['d', 'e', 'f']) workers.add(name, true);
  expect(workers.list()).toEqual(['a c', 'b', 'd f', 'e']);
});
