/** A model is reloaded while a sequence is live: the sequence continues on the old revision, new ones begin on the new one. */

import { join } from 'node:path';
import { copyOf, InferenceError, neverCancelled } from '@millrace/protocol';
import { silentLibraryListener, silentObserver } from '@millrace/router/internal';
import { inferRequest } from '@millrace/router/testing';
import { openMemoryStore } from '@millrace/store';
import { ModelRepository } from '@millrace/worker/testing';
import { resolveConfig } from 'millrace';
import { type Assembly, assemble } from 'millrace/internal';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';

let models: ModelRepository;
let assembly: Assembly;

beforeEach(async () => {
  models = new ModelRepository().copy(join(repositoryRoot, 'tests/models/sequence_sum'));
  const config = resolveConfig({
    options: { models: { controlMode: 'explicit', load: ['sequence_sum'] }, worker: { lane: 'inline' } },
    cwd: models.path,
  });
  assembly = await assemble({
    paths: [models.path],
    config,
    observer: silentObserver,
    listener: silentLibraryListener,
    store: await openMemoryStore(),
    onSharedMemoryUnavailable: () => {},
  });
  assembly.library.start();
  await assembly.library.settled();
});

afterEach(async () => {
  assembly.library.close();
  await assembly.fleet.stop();
  models.remove();
});

async function step(id: bigint, value: number, flag: '' | 'start' | 'end' = ''): Promise<number | string> {
  const request = inferRequest({
    model: 'sequence_sum',
    inputs: [
      { name: 'INPUT', datatype: 'INT32', shape: [1, 1], data: new Uint8Array(Int32Array.of(value).buffer) },
    ] as const,
    sequence: { id, isStart: flag === 'start', isEnd: flag === 'end' },
  });
  try {
    const answer = await assembly.dataPlane.inference.infer(request, neverCancelled);
    const [total] = new Int32Array(copyOf(answer.outputs[0]?.data ?? new Uint8Array()).buffer);
    answer.release();
    return total ?? Number.NaN;
  } catch (error) {
    if (error instanceof InferenceError) return error.code;
    throw error;
  }
}

test('a sequence outlives the load of its model, and an unload waits for it', async () => {
  expect(await step(1n, 5, 'start')).toBe(5);
  await assembly.library.load('sequence_sum');
  expect(await step(2n, 100, 'start')).toBe(100);
  expect(await step(1n, 6)).toBe(11);
  expect(await step(2n, 1)).toBe(101);
  expect(await step(1n, 7, 'end')).toBe(18);
  expect(await step(1n, 1)).toBe('invalid-request');
  const unloaded = assembly.library.unload('sequence_sum');
  await eventually('the unload has begun', () => assembly.models.statuses().some(({ state }) => state === 'unloading'));
  expect(await step(3n, 1, 'start')).toBe('model-not-ready');
  expect(await step(2n, 2, 'end')).toBe(103);
  await unloaded;
});
