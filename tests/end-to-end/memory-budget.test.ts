import { InferenceError } from '@millrace/protocol';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine } from 'millrace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const inputs = { left: { shape: [1, 2], data: [3, 3] }, right: { shape: [1, 2], data: [4, 4] } };
const models = new ModelRepository();
let engine: EmbeddedEngine;
let budget = 0;

beforeAll(async () => {
  for (const name of names) models.write(`${name}/1/model.onnx`, binaryModel('Add'));
  const probe = await createEngine({ models: models.path, control: { controlMode: 'explicit', load: [] } });
  // One after the other, as under a budget: the first is measured while nobody shares its pages.
  for (const name of ['a', 'b']) await probe.library.load(name);
  const bytes = probe.library.contexts().reduce((sum, context) => sum + context.residentBytes, 0);
  await probe.close();
  // Room for two of the five, and a little for growth: what a process takes depends on how many share its program's pages.
  budget = Math.round(bytes * 1.15);
  engine = await createEngine({ models: models.path, control: { memoryBudget: budget } });
});
afterAll(async () => {
  await engine.close();
  models.remove();
});

function states(): readonly string[] {
  return engine.statuses().map(({ name, state }) => `${name} ${state}`);
}

function residentBytes(): number {
  return engine.library.contexts().reduce((sum, context) => sum + context.residentBytes, 0);
}

test('models that fit are loaded at the start, and the others count as ready', async () => {
  expect(budget).toBeGreaterThan(20 * 1024 * 1024);
  const loaded = states().filter((text) => text.endsWith('ready'));
  expect(loaded).toHaveLength(2);
  expect(states().filter((text) => text.endsWith('evicted'))).toHaveLength(3);
  await eventually('the budget holds', () => residentBytes() <= budget);
});

test('a request loads its model, and the least recently used one is evicted', async () => {
  const [first, second] = states()
    .filter((text) => text.endsWith('ready'))
    .map((text) => text.split(' ')[0] as string);
  await engine.infer(first as string, inputs);
  await engine.infer(second as string, inputs);
  await engine.infer(first as string, inputs);
  const absent = states()
    .find((text) => text.endsWith('evicted'))
    ?.split(' ')[0] as string;
  const answers = await Promise.all(Array.from({ length: 32 }, () => engine.infer(absent, inputs)));
  expect(answers.map(({ outputs }) => (outputs.output?.data as Float32Array | undefined)?.[0])).toEqual(
    Array(32).fill(7),
  );
  expect(states()).toContain(`${absent} ready`);
  expect(states()).toContain(`${first} ready`);
  expect(states()).toContain(`${second} evicted`);
  expect(residentBytes()).toBeLessThanOrEqual(budget);
});

test('requests for more models than fit are all answered', async () => {
  const callers = names.map(async (name) => {
    for (let round = 0; round < 3; round++) await engine.infer(name, inputs);
  });
  await Promise.all(callers);
  await eventually('the budget holds', () => residentBytes() <= budget);
});

test('a deadline counts while the model is loaded', async () => {
  const absent = states()
    .find((text) => text.endsWith('evicted'))
    ?.split(' ')[0] as string;
  const late = engine.infer(absent, inputs, { timeoutMs: 1 });
  await expect(late).rejects.toThrow(InferenceError);
  await expect(late).rejects.toMatchObject({ code: 'deadline-exceeded' });
});

test('an invalid request does not load its model', async () => {
  const absent = states()
    .find((text) => text.endsWith('evicted'))
    ?.split(' ')[0] as string;
  await expect(engine.infer(absent, { left: inputs.left })).rejects.toMatchObject({ code: 'invalid-request' });
  expect(states()).toContain(`${absent} evicted`);
});

test('a pinned model stays', async () => {
  const pinned = states()
    .find((text) => text.endsWith('ready'))
    ?.split(' ')[0] as string;
  await engine.library.setPinned(pinned, '1', true);
  for (const name of names) await engine.infer(name, inputs);
  expect(states()).toContain(`${pinned} ready`);
});
