import { expect, test } from 'vitest';
import type { ModelLocation } from '../repository-layout.ts';
import { TestRepository } from '../testing/test-repository.ts';
import { kindOf, modelKinds } from './kind-table.ts';

const nowhere: ModelLocation = { name: 'm', path: '/nowhere', isSingleFile: false, hasConfig: true, versions: ['1'] };

test.each(modelKinds)('$platform is what its platform and its backend say', async (kind) => {
  expect(await kindOf({ platform: kind.platform }, nowhere)).toBe(kind);
  if (kind.backend !== undefined) expect(await kindOf({ backend: kind.backend }, nowhere)).toBe(kind);
});

test('no two kinds have a name, a platform or a backend in common', () => {
  for (const column of ['name', 'platform', 'backend'] as const) {
    const names = modelKinds.flatMap((kind) => kind[column] ?? []);
    expect(new Set(names).size, column).toBe(names.length);
  }
});

test('a kind has instances exactly when it has an engine', () => {
  for (const { name, engine, instances } of modelKinds) {
    expect(instances === 'none', name).toBe(engine === undefined);
  }
});

test('a configuration that fits two kinds is of the kind that is checked first', async () => {
  const kind = await kindOf({ ensemble_scheduling: { step: [] }, backend: 'pipeline' }, nowhere);
  expect(kind.name).toBe('ensemble');
});

test('the kind of a model without platform and backend follows from its files', async () => {
  const repository = await TestRepository.create();
  try {
    const location = { ...nowhere, path: `${repository.path}/m` };
    await repository.write('m/1/notes.txt', new Uint8Array(0));
    expect((await kindOf({}, location)).name).toBe('ONNX model');
    await repository.write('m/1/pipeline.ts', new Uint8Array(0));
    expect((await kindOf({}, location)).name).toBe('pipeline');
    await repository.write('m/1/model.onnx', new Uint8Array(0));
    expect((await kindOf({}, location)).name).toBe('ONNX model');
  } finally {
    await repository.remove();
  }
});
