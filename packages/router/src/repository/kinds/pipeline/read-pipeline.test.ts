import { modelBytes } from '@millrace/onnx/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scanRepository } from '../../repository.ts';
import { TestRepository } from '../../testing/test-repository.ts';
import { createPipelineDescriber, type Described } from './describe-pipeline.ts';

let repository: TestRepository;
beforeEach(async () => {
  repository = await TestRepository.create();
});
afterEach(() => repository.remove());

const x = { name: 'x', datatype: 'FP32', shape: [2] } as const;
const y = { name: 'y', datatype: 'BYTES', shape: [1] } as const;
const tensors = 'input { name: "x" data_type: TYPE_FP32 dims: 2 } output { name: "y" data_type: TYPE_STRING dims: 1 }';

async function scanWith(
  config: string | undefined,
  described: Described = { description: { inputs: [x], outputs: [y] } },
) {
  await repository.write('p/1/pipeline.ts', 'export default 1;');
  if (config !== undefined) await repository.write('p/config.pbtxt', config);
  const asked: string[] = [];
  const { models, failures } = await scanRepository([repository.path], {
    describePipeline: async (path) => {
      asked.push(path.slice(repository.path.length));
      return described;
    },
  });
  return { pipeline: models[0], problems: failures.flatMap(({ problems }) => problems), asked };
}

describe('a pipeline', () => {
  test('is recognised by its file, and declares its own inputs and outputs', async () => {
    const { pipeline, problems, asked } = await scanWith(undefined);
    expect(problems).toEqual([]);
    expect(asked).toEqual(['/p/1/pipeline.ts']);
    expect(pipeline).toMatchObject({ lane: 'pipeline', instanceCount: 1, isGroupShared: false });
    expect(pipeline?.versions[0]).toMatchObject({
      path: `${repository.path}/p/1/pipeline.ts`,
      concurrent: { concurrency: 32 },
      policy: { isConcurrent: true, rowsMax: 1 },
      view: {
        platform: 'millrace_pipeline',
        inputs: [x],
        outputs: [y],
        isBatched: false,
        config: {
          backend: 'pipeline',
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
          output: [{ name: 'y', data_type: 'TYPE_STRING', dims: [1] }],
        },
      },
    });
  });

  test('whose configuration is complete is not run to read its declaration', async () => {
    const parameter = 'parameters { key: "millrace.concurrency" value { string_value: "3" } }';
    const { pipeline, asked } = await scanWith(`backend: "pipeline" ${tensors} max_batch_size: 4 ${parameter}`);
    expect(asked).toEqual([]);
    expect(pipeline?.versions[0]).toMatchObject({
      concurrent: { concurrency: 3 },
      policy: { rowsMax: 4 },
      view: { isBatched: true, inputs: [{ name: 'x', shape: [-1, 2] }] },
    });
  });

  test('that is decoupled divides its runs among callers, and those that nobody reads give way if they can be run again', async () => {
    const decoupled = { description: { inputs: [x], outputs: [y], decoupled: true } };
    const set = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`;
    const policyWith = async (config: string) => (await scanWith(config, decoupled)).pipeline?.versions[0]?.policy;
    const forEver = Number.POSITIVE_INFINITY;
    expect(await policyWith('')).toMatchObject({ callerRunsMax: 'share', unreadMsMax: forEver });
    expect(await policyWith(set('millrace.resumable', 'true'))).toMatchObject({ unreadMsMax: 10_000 });
    expect(await policyWith(set('millrace.unread_ms_max', '5'))).toMatchObject({ unreadMsMax: 5 });
    expect(await policyWith(set('millrace.caller_concurrency_max', '7'))).toMatchObject({ callerRunsMax: 7 });
    const { pipeline } = await scanWith('');
    expect(pipeline?.versions[0]?.policy).toMatchObject({ callerRunsMax: forEver, unreadMsMax: forEver });
  });

  test.each(['millrace.unread_ms_max', 'millrace.caller_concurrency_max'])(
    'with one answer to a request has no %s',
    async (key) => {
      const { problems } = await scanWith(`parameters { key: "${key}" value { string_value: "5" } }`);
      expect(problems.map(({ message }) => message)).toEqual([
        expect.stringMatching(/applies only to a pipeline that gives several answers/),
      ]);
    },
  );

  test('beside a graph is not one: the graph is served', async () => {
    await repository.write('p/1/model.onnx', modelBytes());
    const { pipeline } = await scanWith(undefined);
    expect(pipeline?.lane).toBe('local');
  });

  test.each<[config: string, described: Described | undefined, field: string | undefined, message: RegExp]>([
    ['backend: "pipeline"', { problem: 'has no default export' }, undefined, /pipeline\.ts: has no default export/],
    ['backend: "pipeline"', { description: { inputs: [x] } }, 'output', /neither written here nor declared/],
    ['backend: "pipeline" default_model_filename: "other.ts"', undefined, undefined, /there is no other\.ts in /],
    [
      'input { name: "x" data_type: TYPE_FP32 dims: 4 reshape { shape: [ 2, 2 ] } }',
      undefined,
      'input[0].reshape',
      /no graph with another shape; remove it/,
    ],
    ['max_batch_size: 4', undefined, 'max_batch_size', /the module does not expect rows/],
    [
      'max_batch_size: 4',
      { description: { inputs: [x], outputs: [y], maxBatchSize: 2 } },
      'max_batch_size',
      /is 4, but the module says 2/,
    ],
    ...(['lane', 'worker_group', 'threads', 'spinning'] as const).map((name): [string, undefined, string, RegExp] => [
      `parameters { key: "millrace.${name}" value { string_value: "${{ lane: 'local', worker_group: 'g', threads: '1', spinning: 'true' }[name]}" } }`,
      undefined,
      `parameters["millrace.${name}"]`,
      /does not apply to a pipeline/,
    ]),
    [
      'model_warmup { name: "w" batch_size: 1 }',
      undefined,
      'model_warmup',
      /ready when its module is loaded.*; remove it/,
    ],
  ])('%s is refused', async (config, described, field, message) => {
    const { pipeline, problems } = await scanWith(config, described);
    expect(pipeline).toBeUndefined();
    const problem = problems.find((candidate) => message.test(candidate.message));
    expect(problem, JSON.stringify(problems)).toBeDefined();
    expect(problem?.field).toBe(field);
  });

  test('only a pipeline runs several requests at once', async () => {
    await repository.write('m/1/model.onnx', modelBytes());
    await repository.write('m/config.pbtxt', 'parameters { key: "millrace.concurrency" value { string_value: "2" } }');
    const { failures } = await scanRepository([repository.path]);
    expect(failures[0]?.problems[0]?.message).toMatch(/only pipelines and generators run several requests at once/);
  });
});

describe('reading the declaration of a module', () => {
  const ask = async (program: string, msMax?: number) => {
    const programPath = await repository.write('program.mjs', program);
    return createPipelineDescriber(msMax === undefined ? { programPath } : { programPath, msMax })('/p/1/pipeline.ts');
  };
  const write = (text: string) => `import { writeSync } from 'node:fs'; writeSync(3, ${JSON.stringify(text)});`;

  test('returns what it declares, or its problem', async () => {
    expect(await ask(write(JSON.stringify({ declaration: { inputs: [x] } })))).toEqual({
      description: { inputs: [x] },
    });
    expect(await ask(write('{"problem":"no luck"}'))).toEqual({ problem: 'no luck' });
  });

  test.each([
    ['process.exit(3);', /ended the process that loaded it \(exit code 3\)/],
    ['throw new Error("at the top");', /exit code 1\).*at the top/],
    [write('{"declaration":{"inputs":[{"name":"x"}]}}'), /ended the process/],
    [write('nonsense'), /ended the process/],
  ])('%s is reported with how the process ended', async (program, problem) => {
    expect(await ask(program)).toEqual({ problem: expect.stringMatching(problem) });
  });

  test('a process that does not end in time is killed', async () => {
    expect(await ask('setInterval(() => {}, 1000);', 300)).toEqual({
      problem: expect.stringMatching(/was not loaded within 0\.3 s/),
    });
  });
});
