import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findAllModels } from '../../repository/repository.ts';
import { TestRepository } from '../../repository/testing/test-repository.ts';
import type { ModelLocations } from '../reading/repository-reader.ts';
import { UploadedCode } from './uploaded-code.ts';

let repository: TestRepository;
beforeEach(async () => {
  repository = await TestRepository.create();
});
afterEach(() => repository.remove());

const bytes = Buffer.from('x');
const code = new UploadedCode(false);

async function findLocations(): Promise<ModelLocations> {
  const { locations } = await findAllModels([repository.path]);
  return new Map(locations.map((location) => [location.name, location]));
}

function refusal(config: string, ...paths: readonly string[]): Promise<unknown> {
  const files = new Map(paths.map((path) => [path, bytes]));
  return code.refuse('m', { config, ...(paths.length === 0 ? {} : { files }) }, findLocations).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('files of a load', () => {
  test.each([
    '1/pipeline.ts',
    '1/pipeline.mts',
    '1/pipeline.js',
    '1/pipeline.mjs',
    '1/helper.cjs',
    '1/x.TSX',
    '1/addon.node',
    '1/libcustom_ops.so',
    '1/libcustom_ops.so.1.2',
    '1/ops.DLL',
    '1/ops.dylib',
    '1/lib/run.wasm',
  ])('%s is refused by its file name', async (path) => {
    expect(await refusal('{}', '1/model.onnx', path)).toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(
        `^failed to load 'm', file ${JSON.stringify(path)} is code.*models\\.allowUploadedCode`,
      ),
    });
  });

  test('models, weights, labels and warm-up data are not code', async () => {
    const paths = [
      '1/model.onnx',
      '1/weights.bin',
      '1/model.onnx.data',
      '1/labels.txt',
      '1/so',
      '1/a.json',
      '1/ts.onnx',
    ];
    expect(await refusal('{"backend": "onnxruntime"}', ...paths)).toBeUndefined();
  });

  test.each(['{"backend": "pipeline", "default_model_filename": "model.bin"}', '{"platform": "millrace_pipeline"}'])(
    'are not run as a pipeline because the configuration %s says so',
    async (config) => {
      expect(await refusal(config, '1/model.bin')).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('its files would be run as a pipeline'),
      });
    },
  );

  test('are not checked where the operator allows code', async () => {
    const files = new Map([['1/pipeline.mjs', bytes]]);
    await new UploadedCode(true).refuse('m', { config: '{"backend":"pipeline"}', files }, findLocations);
  });
});

describe('a configuration without files', () => {
  test('may change a pipeline of the repository, but not which of its files is run', async () => {
    await repository.write('m/1/pipeline.ts', 'export default 1;');
    await repository.write('m/1/other.ts', 'export default 2;');
    expect(await refusal('{"backend":"pipeline","instance_group":[{"count":2}]}')).toBeUndefined();
    expect(await refusal('{"backend":"pipeline","default_model_filename":"other.ts"}')).toMatchObject({
      message: expect.stringContaining('default_model_filename'),
    });
  });

  test('does not turn another model into a pipeline', async () => {
    await repository.write('m/1/model.onnx', 'x');
    await repository.write('m/1/notes.js', 'x');
    expect(await refusal('{"backend":"pipeline","default_model_filename":"notes.js"}')).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('turns a model of the repository into a pipeline'),
    });
    expect(await refusal('{"max_batch_size": 4}')).toBeUndefined();
  });
});

test('a load that was saved when code was allowed is refused after a restart without it', async () => {
  const folder = join(repository.path, 'kept');
  const location = { name: 'm', path: folder, isSingleFile: false, hasConfig: true, configText: '{}', versions: ['1'] };
  await mkdir(dirname(join(folder, '1/pipeline.mjs')), { recursive: true });
  await writeFile(join(folder, '1/pipeline.mjs'), 'x');
  const load = { config: '{}', folder };
  expect(await code.problemOf(location, load, new Map())).toMatch(/file "1\/pipeline\.mjs" is code/);
  expect(await new UploadedCode(true).problemOf(location, load, new Map())).toBeUndefined();
  expect(await code.problemOf({ ...location, path: repository.path }, {}, new Map())).toBeUndefined();
});
