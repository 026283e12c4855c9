import { join } from 'node:path';
import { modelBytes, tensorInfo } from '@millrace/onnx/testing';
import { noGpuSupport } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { modelDefaults } from './model-parameters.ts';
import { readModel } from './read-model.ts';
import { warmupBytesMax, warmupRunsMax } from './read-warmup.ts';
import { testConfig } from './testing/test-model.ts';
import { TestRepository } from './testing/test-repository.ts';

/** A model `m` with x FP32 [4], at most 8 rows, and a file of one row. */
let repository: TestRepository;
beforeAll(async () => {
  repository = await TestRepository.create();
  await repository.write('m/1/model.onnx', modelBytes());
  await repository.write('m/warmup/row', new Uint8Array(16));
  await repository.write('m/warmup/long', new Uint8Array(17));
});
afterAll(() => repository.remove());

async function read(config: string) {
  await repository.write('m/config.pbtxt', `${testConfig}\n${config}`);
  const path = join(repository.path, 'm');
  const location = { name: 'm', path, isSingleFile: false, hasConfig: true, versions: ['1'] };
  return readModel(location, { gpu: noGpuSupport, defaults: modelDefaults });
}

const input = (fill: string, dims = '4', type = 'TYPE_FP32', name = 'x') =>
  `inputs { key: "${name}" value { data_type: ${type} dims: [ ${dims} ] ${fill} } }`;

describe('warm-up samples', () => {
  test('become recipes with their rows, runs and files', async () => {
    const { definition, warnings } = await read(`
      model_warmup { name: "zeros" ${input('zero_data: true')} }
      model_warmup { name: "full" batch_size: 8 count: 3 ${input('random_data: true')} }
      model_warmup { name: "real" batch_size: 1 ${input('input_data_file: "row"')} }`);
    expect(warnings.filter(({ field }) => field?.startsWith('model_warmup'))).toEqual([]);
    const at = (fill: object) => [{ index: 0, shape: [4], fill }];
    expect(definition?.versions[0]?.warmup).toEqual([
      { name: 'zeros', rows: 1, runs: 1, inputs: at({ kind: 'zeros' }) },
      { name: 'full', rows: 8, runs: 3, inputs: at({ kind: 'random' }) },
      {
        name: 'real',
        rows: 1,
        runs: 1,
        inputs: at({ kind: 'file', path: join(repository.path, 'm', 'warmup', 'row') }),
      },
    ]);
  });

  test.each([
    [
      `name: "w" ${input('zero_data: true')} ${input('zero_data: true', '4', 'TYPE_FP32', 'z')}`,
      '.inputs["z"]',
      'no input "z"',
    ],
    ['name: "w"', '.inputs', 'does not give "x"'],
    [input('zero_data: true'), '.name', 'is missing'],
    [`name: "w" batch_size: 9 ${input('zero_data: true')}`, '.batch_size', 'from 1 to 8'],
    [`name: "w" count: 10001 ${input('zero_data: true')}`, '.count', `from 1 to ${warmupRunsMax}`],
    [`name: "w" ${input('zero_data: true', '5')}`, '.inputs["x"].dims', 'is [ 5 ], which does not fit [ 4 ]'],
    [`name: "w" ${input('zero_data: true', '-1')}`, '.inputs["x"].dims', 'each size stated'],
    [`name: "w" ${input('zero_data: true', '4', 'TYPE_INT8')}`, '.inputs["x"].data_type', 'the input is FP32'],
    [`name: "w" ${input('zero_data: false')}`, '.inputs["x"]', 'needs zero_data: true'],
    [`name: "w" ${input('input_data_file: "../row"')}`, '.inputs["x"].input_data_file', 'must be inside'],
    [`name: "w" ${input('input_data_file: "none"')}`, '.inputs["x"].input_data_file', 'does not exist'],
    [`name: "w" ${input('input_data_file: "long"')}`, '.inputs["x"].input_data_file', 'one row of these dims takes 16'],
  ])('%s is a problem, named by its field', async (text, field, message) => {
    const { failures } = await read(`model_warmup { ${text} }`);
    const problems = failures.flatMap((failure) => failure.problems);
    expect(problems).toEqual([
      expect.objectContaining({ field: `model_warmup[0]${field}`, message: expect.stringContaining(message) }),
    ]);
  });

  test('a sample over the limit of bytes is refused before anything of that size is made', async () => {
    await repository.write('free/1/model.onnx', modelBytes({ inputs: [tensorInfo('x', 1, ['batch', 'length'])] }));
    await repository.write(
      'free/config.pbtxt',
      `max_batch_size: 8 input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
       output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }
       model_warmup { name: "w" batch_size: 8 ${input('zero_data: true', String(warmupBytesMax / 16))} }`,
    );
    const path = join(repository.path, 'free');
    const location = { name: 'free', path, isSingleFile: false, hasConfig: true, versions: ['1'] };
    const { failures } = await readModel(location, { gpu: noGpuSupport, defaults: modelDefaults });
    expect(JSON.stringify(failures)).toContain(`more than ${warmupBytesMax}`);
  });
});
