import { modelBytes } from '@millrace/onnx/testing';
import { formatConfigProblem } from '@millrace/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scanRepository } from '../../repository.ts';
import { TestRepository } from '../../testing/test-repository.ts';

let repository: TestRepository;
beforeEach(async () => {
  repository = await TestRepository.create();
  // x FP32 [batch, 4] to y FP32 [batch, 4].
  await repository.write('m/1/model.onnx', modelBytes());
});
afterEach(() => repository.remove());

const tensors =
  'input { name: "a" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "c" data_type: TYPE_FP32 dims: [ 4 ] }';
const stepText = (from: string, to: string, more = 'model_name: "m" model_version: -1') =>
  `step { ${more} input_map { key: "x" value: "${from}" } output_map { key: "y" value: "${to}" } }`;
const chain = `ensemble_scheduling { ${stepText('a', 'b')} ${stepText('b', 'c')} }`;

/** Scans with an ensemble `e` of this configuration beside `m`. */
async function scanWith(config: string) {
  await repository.write('e/config.pbtxt', `platform: "ensemble" max_batch_size: 8\n${config}`);
  const { models, failures, warnings } = await scanRepository([repository.path]);
  return {
    ensemble: models.find(({ name }) => name === 'e'),
    problems: failures.flatMap(({ problems }) => problems),
    warnings: warnings.map(formatConfigProblem).map((text) => text.replace(repository.path, '')),
  };
}

describe('an ensemble', () => {
  test('consists of its configuration alone: no version folder, no instances', async () => {
    const { ensemble, problems, warnings } = await scanWith(`${tensors}\n${chain}`);
    expect([problems, warnings]).toEqual([[], []]);
    expect(ensemble).toMatchObject({ instanceCount: 0, versions: [{ version: '1' }] });
    const version = ensemble?.versions[0];
    expect(version?.view).toMatchObject({
      platform: 'ensemble',
      isBatched: true,
      rowsMax: 8,
      inputs: [{ name: 'a', datatype: 'FP32', shape: [-1, 4] }],
      outputs: [{ name: 'c', datatype: 'FP32', shape: [-1, 4] }],
      config: { name: 'e', platform: 'ensemble', max_batch_size: 8 },
    });
    expect(version?.ensemble?.plan.steps.map(({ model, version: of }) => [model, of])).toEqual([
      ['m', ''],
      ['m', ''],
    ]);
    expect(version?.ensemble?.inflightMax).toBe(Number.POSITIVE_INFINITY);
  });

  test('has the versions of its folders where there are any, and its limit', async () => {
    await repository.folder('e/3');
    const limited = chain.replace('{ step', '{ max_inflight_requests: 5 step');
    const { ensemble } = await scanWith(`${tensors}\n${limited}`);
    expect(ensemble?.versions.map(({ version }) => version)).toEqual(['3']);
    expect(ensemble?.versions[0]?.ensemble?.inflightMax).toBe(5);
  });

  test.each<[config: string, field: string, message: RegExp]>([
    [tensors, 'ensemble_scheduling.step', /there is none; an ensemble has from 1 to 256 steps/],
    [chain, 'input', /is missing; list every input/],
    [`input { } ${tensors} ${chain}`, 'input[0].name', /is missing/],
    [`${tensors} ${tensors} ${chain}`, 'input[1].name', /"a" is listed twice/],
    [`${tensors} input { name: "z" dims: [ 4 ] } ${chain}`, 'input[1].data_type', /write for instance TYPE_FP32/],
    [`${tensors} input { name: "z" data_type: TYPE_FP32 } ${chain}`, 'input[1].dims', /is missing; write -1/],
    [
      `${tensors} input { name: "z" data_type: TYPE_FP32 dims: 1 reshape { shape: 2 } } ${chain}`,
      'input[1].reshape',
      /\[ 2 \] does not hold as many elements as dims \[ 1 \]/,
    ],
    [`${tensors} ${chain} backend: "onnxruntime"`, 'backend', /remove it and write platform: "ensemble"/],
    [`${tensors} ${chain} instance_group { count: 2 }`, 'instance_group', /no instances of its own/],
    [`${tensors} ${chain} model_warmup { name: "w" }`, 'model_warmup', /no instances to warm up/],
    [`${tensors} ${chain} response_cache { enable: true }`, 'response_cache.enable', /enable it for those/],
    [
      `${tensors} ${chain} parameters { key: "millrace.threads" value { string_value: "2" } }`,
      'parameters["millrace.threads"]',
      /does not apply to an ensemble/,
    ],
    [
      `${tensors} ensemble_scheduling { ${stepText('a', 'c', '')} }`,
      'ensemble_scheduling.step[0].model_name',
      /is missing/,
    ],
    [
      `${tensors} ensemble_scheduling { ${stepText('a', 'c', 'model_name: "m" model_version: 0')} }`,
      'ensemble_scheduling.step[0].model_version',
      /0 is not a version; write -1/,
    ],
    [
      `${tensors} ensemble_scheduling { ${stepText('a', 'c', 'model_name: "m" model_namespace: "n"')} }`,
      'ensemble_scheduling.step[0].model_namespace',
      /share one namespace; remove it/,
    ],
    [
      `${tensors} ensemble_scheduling { step { model_name: "m" output_map { key: "y" value: "c" } } }`,
      'ensemble_scheduling.step[0].input_map',
      /is missing; write key: the model's name/,
    ],
    [
      `${tensors} ensemble_scheduling { ${stepText('nobody', 'c')} }`,
      'ensemble_scheduling.step[0].input_map["x"]',
      /"nobody" is neither an input of the ensemble nor produced by a step/,
    ],
  ])('%s is reported with its field', async (config, field, message) => {
    const { ensemble, problems } = await scanWith(config);
    expect(ensemble).toBeUndefined();
    const problem = problems.find((candidate) => candidate.field === field);
    expect(problem, JSON.stringify(problems)).toBeDefined();
    expect(problem?.message).toMatch(message);
    expect(problem?.source).toMatch(/e\/config\.pbtxt$/);
  });

  test('a problem in a step is reported with its line', async () => {
    const { problems } = await scanWith(`${tensors}\nensemble_scheduling {\n${stepText('a', 'c', '')}\n}`);
    expect(problems).toMatchObject([{ line: 4, field: 'ensemble_scheduling.step[0].model_name' }]);
  });
});

describe('an ensemble and the models of its steps', () => {
  test.each<[what: string, config: string, warning: RegExp]>([
    [
      'a model that is not there',
      `${tensors} ensemble_scheduling { ${stepText('a', 'c', 'model_name: "mm"')} }`,
      /step\[0\]\.model_name: no "mm" can be served \(did you mean m\?\); the ensemble waits for it$/,
    ],
    [
      'a version that is not there',
      `${tensors} ensemble_scheduling { ${stepText('a', 'c', 'model_name: "m" model_version: 9')} }`,
      /step\[0\]\.model_name: no version 9 of "m" can be served; the ensemble waits for it$/,
    ],
    [
      'an input that the model does not have',
      `${tensors} ${chain}`.replace('"x"', '"xx"'),
      /step\[0\]\.input_map\["xx"\]: "m" has no input "xx" \(did you mean x\?\)/,
    ],
    [
      'an output that the model does not have',
      `${tensors} ${chain}`.replaceAll('key: "y"', 'key: "zzz"'),
      /step\[0\]\.output_map\["zzz"\]: "m" has no output "zzz"; it has y/,
    ],
    [
      'an input with another datatype',
      `${tensors} ${chain}`.replace('TYPE_FP32', 'TYPE_INT32'),
      /input "a" of the ensemble is INT32, but this input of "m" is FP32; make them equal/,
    ],
    [
      'an output with another shape',
      `${tensors} ${chain}`.replace(/dims: \[ 4 \] \} ens/, 'dims: [ 5 ] } ens'),
      /output\[0\]: output "y" of "m" has the shape \[-1, 4\], but this output of the ensemble has \[-1, 5\]/,
    ],
    [
      'an optional input of a step that needs it',
      `${tensors} ${chain}`.replace('name: "a"', 'name: "a" optional: true'),
      /input "a" of the ensemble is optional, but this input of "m" is not/,
    ],
  ])('warn of %s', async (_what, config, warning) => {
    const { warnings, ensemble } = await scanWith(config);
    expect(ensemble).toBeDefined();
    expect(
      warnings.some((text) => warning.test(text)),
      warnings.join('\n'),
    ).toBe(true);
  });

  test('may have more rows than the guessed max_batch_size of a step, which takes any number', async () => {
    await repository.write('e/config.pbtxt', `platform: "ensemble" max_batch_size: 100 ${tensors} ${chain}`);
    const analyseRows = async () => ({ kind: 'independent' }) as const;
    const { models, warnings } = await scanRepository([repository.path], { analyseRows });
    expect(models.find(({ name }) => name === 'm')?.versions[0]?.view.rowsMax).toBe(64);
    expect(warnings).toEqual([]);
  });

  test('warn of more rows than a step takes', async () => {
    await repository.write('m/config.pbtxt', 'max_batch_size: 4');
    const { warnings } = await scanWith(`${tensors} ${chain}`);
    expect(warnings).toContainEqual(
      '/e/config.pbtxt: max_batch_size: is 8, but "m" takes 4 rows; set max_batch_size to 4 or less',
    );
  });
});
