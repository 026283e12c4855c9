import { expect, test } from 'vitest';
import { UnloadedModels, unloadedModelsMax } from './unloaded-models.ts';

test('versions of unloaded models are remembered until they are served again', () => {
  const unloaded = new UnloadedModels();
  unloaded.note('a', ['1', '2']);
  unloaded.note('b', ['1']);
  unloaded.forget('a');
  expect([...unloaded.versions]).toEqual([['b', ['1']]]);
});

test('only the latest unloadedModelsMax names are remembered', () => {
  const unloaded = new UnloadedModels();
  for (let index = 0; index < 3 * unloadedModelsMax; index++) unloaded.note(`made-up-${index}`, ['1']);
  expect(unloaded.versions.size).toBe(unloadedModelsMax);
  expect(unloaded.versions.has(`made-up-${3 * unloadedModelsMax - 1}`)).toBe(true);

  const few = new UnloadedModels(2);
  for (const name of ['a', 'b', 'a', 'c']) few.note(name, ['1']);
  expect([...few.versions.keys()]).toEqual(['a', 'c']);
});
