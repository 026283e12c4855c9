import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { TensorSpec } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { createPipelineDescriber } from './kinds/pipeline/describe-pipeline.ts';
import { scanRepository } from './repository.ts';

const root = new URL('../../../../', import.meta.url);
const golden = new URL('tests/make-models/golden/', root);
const goldenNames = (await readdir(golden)).map((file) => file.replace(/\.json$/, ''));
const describePipeline = createPipelineDescriber({
  programPath: fileURLToPath(new URL('packages/worker/dist/pipeline/describe-main.js', root)),
  // Seven processes at once, on a busy machine.
  msMax: 110_000,
});
const scanOf = (folder: string) => scanRepository([fileURLToPath(new URL(folder, root))], { describePipeline });
const scan = await scanOf('tests/models');
const stateless = scan.models.filter(({ name }) => goldenNames.includes(name));

interface GoldenTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly unknown[];
  readonly repeat?: readonly unknown[];
}
interface Golden {
  readonly cases: readonly { readonly inputs: readonly GoldenTensor[]; readonly outputs: readonly GoldenTensor[] }[];
}

test('every test model is served without a warning', () => {
  expect(scan).toMatchObject({ failures: [], problems: [], warnings: [] });
});

test('every bundled model is served', async () => {
  expect(await scanOf('models')).toMatchObject({ failures: [], problems: [], warnings: [] });
}, 120_000);

test('there is a golden file for each test model that keeps no state', () => {
  expect(stateless.map(({ name }) => name)).toEqual([...goldenNames].sort());
  expect(stateless).toHaveLength(18);
});

test('the identity models share one worker, the others have one each', () => {
  const groups = new Set(stateless.map(({ workerGroup }) => workerGroup));
  expect([...groups].sort()).toEqual([
    'identity',
    'model/accumulator',
    'model/add_sub',
    'model/image_mean',
    'model/mlp',
    'model/slow',
  ]);
});

test('there is an identity model for every datatype that the engine can carry', () => {
  const identities = stateless.filter(({ name }) => name.startsWith('identity_'));
  const datatypes = identities.map(({ versions }) => versions[0]?.view.inputs[0]?.datatype);
  expect(datatypes.sort()).toEqual([
    'BOOL',
    'BYTES',
    'FP16',
    'FP32',
    'FP64',
    'INT16',
    'INT32',
    'INT64',
    'INT8',
    'UINT16',
    'UINT32',
    'UINT64',
    'UINT8',
  ]);
});

test('mlp names its classes', () => {
  const labels = stateless.find(({ name }) => name === 'mlp')?.versions[0]?.view.labels.get('probabilities');
  expect(labels).toHaveLength(10);
});

test.each(stateless)('the golden cases of $name fit what the model says of itself', async ({ name, versions }) => {
  const view = versions[0]?.view;
  const { cases } = JSON.parse(await readFile(new URL(`${name}.json`, golden), 'utf8')) as Golden;
  expect(cases.length).toBeGreaterThan(0);
  for (const { inputs, outputs } of cases) {
    expectToFit(inputs, view?.inputs ?? []);
    expectToFit(outputs, view?.outputs ?? []);
  }
});

function expectToFit(tensors: readonly GoldenTensor[], specs: readonly TensorSpec[]): void {
  expect(tensors.map(({ name }) => name)).toEqual(specs.map(({ name }) => name));
  for (const [index, { datatype, shape, data }] of tensors.entries()) {
    const spec = specs[index];
    expect(datatype).toBe(spec?.datatype);
    expect(shape.length).toBe(spec?.shape.length);
    for (const [axis, size] of shape.entries()) expect([size, -1]).toContain(spec?.shape[axis]);
    if (data !== undefined) expect(data.length).toBe(shape.reduce((product, size) => product * size, 1));
  }
}
