import { expect, test } from 'vitest';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import { stepOrderOf } from './step-order.ts';

/** A model whose configuration is given; without steps it is not an ensemble. */
function location(name: string, ...steps: readonly string[]): ModelLocation {
  const step = steps.map((model_name) => ({ model_name, model_version: -1 }));
  const config = steps.length === 0 ? {} : { platform: 'ensemble', ensemble_scheduling: { step } };
  return {
    name,
    path: name,
    isSingleFile: false,
    hasConfig: true,
    versions: ['1'],
    configText: JSON.stringify(config),
  };
}

function orderOf(root: ModelLocation, ...others: readonly ModelLocation[]) {
  return stepOrderOf(root, (name) => [root, ...others].find((one) => one.name === name));
}

test('a model that is not an ensemble needs no other', async () => {
  expect(await orderOf(location('m'))).toEqual({ models: [], ensembles: [], circle: [] });
});

test('an ensemble needs the models of its steps and of the ensembles among them, each once', async () => {
  const order = await orderOf(
    location('e', 'f', 'm', 'g'),
    location('f', 'g', 'n'),
    location('g', 'm'),
    location('m'),
    location('n'),
  );
  expect(order).toEqual({ models: ['m', 'n'], ensembles: ['g', 'f'], circle: [] });
});

test('a model that is not found is listed as needed', async () => {
  expect(await orderOf(location('e', 'nobody'))).toEqual({ models: ['nobody'], ensembles: [], circle: [] });
});

test.each([
  [['e'], ['e', 'e']],
  [['f'], ['e', 'f', 'e']],
  [['g'], ['g', 'h', 'g']],
])('a cycle through %j is found', async (steps, circle) => {
  const order = await orderOf(location('e', ...steps), location('f', 'e'), location('g', 'h'), location('h', 'g'));
  expect(order.circle).toEqual(circle);
});
