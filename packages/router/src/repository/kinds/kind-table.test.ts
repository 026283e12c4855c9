import { expect, test } from 'vitest';
import { Findings } from '../config-text/findings.ts';
import { modelParameters, type ParameterName } from '../model-parameters.ts';
import type { ModelLocation } from '../repository-layout.ts';
import { TestRepository } from '../testing/test-repository.ts';
import { refuseForeignParameters } from './foreign-parameters.ts';
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

test('every parameter means something for a kind, and each kind refuses those that it does not declare', () => {
  const all = Object.keys(modelParameters) as ParameterName[];
  expect(new Set(modelKinds.flatMap(({ parameters }) => parameters))).toEqual(new Set(all));
  for (const kind of modelKinds) {
    const findings = new Findings('config.pbtxt');
    const parameters = Object.fromEntries(all.map((name) => [name, { string_value: '1' }]));
    refuseForeignParameters(kind, { parameters }, findings);
    const refused = all.filter((name) => !kind.parameters.includes(name));
    expect(findings.problems.map(({ field }) => field)).toEqual(refused.map((name) => `parameters["${name}"]`));
  }
});
