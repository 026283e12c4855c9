import { field } from '@millrace/onnx/testing';
import type { LoadSpec } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { readTestModel, serveTestModel, testConfig, testEntries } from '../repository/testing/test-model.ts';
import { deviceNameOf, loadSpecAt } from './instance-placements.ts';

const twoGpus = { hasCuda: true, hasTensorrt: false, devices: 2 };
const withTensorrt = { ...twoGpus, hasTensorrt: true };

async function placementNamesOf(config: string, gpu?: typeof twoGpus): Promise<readonly string[]> {
  const { definition } = await serveTestModel({ config: `${testConfig} ${config}`, ...(gpu && { gpu }) });
  expect(definition.instanceCount).toBe(definition.placements.length);
  return definition.placements.map((placement) => `${placement.group} ${deviceNameOf(placement)}`);
}

describe('instances', () => {
  test('default to one on the CPU, or one on each GPU that exists', async () => {
    expect(await placementNamesOf('')).toEqual(['m cpu']);
    expect(await placementNamesOf('', twoGpus)).toEqual(['m gpu:0', 'm gpu:1']);
    expect(await placementNamesOf('instance_group { count: 2 }', twoGpus)).toEqual([
      'm_0 gpu:0',
      'm_0 gpu:1',
      'm_0 gpu:0',
      'm_0 gpu:1',
    ]);
  });

  test('of several groups have their own names and devices', async () => {
    const groups = `
      instance_group { name: "quick" kind: KIND_GPU count: 2 gpus: [ 1 ] }
      instance_group { name: "spare" kind: KIND_CPU count: 1 }`;
    expect(await placementNamesOf(groups, twoGpus)).toEqual(['quick gpu:1', 'quick gpu:1', 'spare cpu']);
    const cpus = 'instance_group { name: "a" count: 1 } instance_group { name: "b" kind: KIND_CPU count: 2 }';
    expect(await placementNamesOf(cpus)).toEqual(['a cpu', 'b cpu', 'b cpu']);
  });

  test('of one group may be reserved for urgent requests, and have their own thread count', async () => {
    const { definition } = await serveTestModel({
      config: `${testConfig} dynamic_batching { priority_levels: 3 default_priority_level: 3 }
        instance_group { name: "fast" count: 1 } instance_group { name: "slow" count: 2 }
        parameters { key: "millrace.reserve.fast" value { string_value: "2" } }
        parameters { key: "millrace.threads.slow" value { string_value: "1" } }
        parameters { key: "millrace.threads" value { string_value: "4" } }`,
    });
    const { placements } = definition;
    expect(placements.map(({ group, priorityMax, threads }) => [group, priorityMax, threads])).toEqual([
      ['fast', 2, 0],
      ['slow', Infinity, 1],
      ['slow', Infinity, 1],
    ]);
    const spec = { threads: definition.threads } as LoadSpec;
    expect([0, 1, 2].map((position) => loadSpecAt(spec, placements, position).threads)).toEqual([4, 1, 1]);
  });

  test('on a GPU use CUDA, or TensorRT where it is requested and installed', async () => {
    const accelerated = `${testConfig} optimization { execution_accelerators {
      gpu_execution_accelerator { name: "tensorrt" parameters { key: "precision_mode" value: "FP16" } } } }`;
    const providersOf = async (config: string, gpu: typeof twoGpus) => {
      const { definition, warnings } = await serveTestModel({ config, gpu });
      return {
        providers: definition.placements.map((placement) => placement.gpu?.provider),
        warnings: JSON.stringify(warnings),
      };
    };
    expect((await providersOf(testConfig, withTensorrt)).providers).toEqual(['cuda', 'cuda']);
    const there = await providersOf(accelerated, withTensorrt);
    expect(there.providers).toEqual(['tensorrt', 'tensorrt']);
    expect(there.warnings).toContain('precision_mode cannot be passed');
    const absent = await providersOf(accelerated, twoGpus);
    expect(absent.providers).toEqual(['cuda', 'cuda']);
    expect(absent.warnings).toContain('TensorRT is not installed');
  });

  test('on a GPU run graphs with convolutions in a few batch sizes, and all others in any', async () => {
    const convolution = field(1, [field(4, 'Conv')]);
    const specOf = async (config: string, graphFields: readonly Uint8Array[]) => {
      const { definition } = await serveTestModel({ config: `${testConfig} ${config}`, gpu: twoGpus, graphFields });
      const spec = { threads: 1, batchSizes: definition.versions[0]?.gpuBatchSizes } as LoadSpec;
      return definition.placements.map((_, position) => loadSpecAt(spec, definition.placements, position).batchSizes);
    };
    const both = 'instance_group { name: "a" kind: KIND_GPU gpus: [ 0 ] } instance_group { name: "b" kind: KIND_CPU }';
    const written = (sizes: string) =>
      `parameters { key: "millrace.gpu_batch_sizes" value { string_value: "${sizes}" } }`;
    expect(await specOf(both, [convolution])).toEqual([[1, 8], undefined]);
    expect(await specOf(both, [])).toEqual([undefined, undefined]);
    for (const [rowsMax, sizes] of [
      [1, undefined],
      [2, [1, 2]],
      [64, [1, 8, 16, 32, 64]],
      [100, [1, 13, 25, 50, 100]],
    ] as const) {
      const config = `max_batch_size: ${rowsMax} ${testEntries}`;
      const { gpuBatchSizes } = await serveTestModel({ config, gpu: twoGpus, graphFields: [convolution] });
      expect(gpuBatchSizes).toEqual(sizes);
    }
    const unbatched = { x: [1, [4]], y: [1, [4]] } as const;
    const alone = await serveTestModel({
      inputs: { x: unbatched.x },
      outputs: { y: unbatched.y },
      graphFields: [convolution],
    });
    expect(alone.gpuBatchSizes).toBeUndefined();
    expect(await specOf(`${both} ${written('any')}`, [convolution])).toEqual([undefined, undefined]);
    expect(await specOf(`${both} ${written('2, 4,8')}`, [])).toEqual([[2, 4, 8], undefined]);
  });

  test.each([
    ['instance_group { kind: KIND_GPU gpus: [ 2 ] }', twoGpus, 'instance_group[0].gpus', 'those here are 0 to 1'],
    ['instance_group { kind: KIND_GPU gpus: [ 1, 1 ] }', twoGpus, 'instance_group[0].gpus', 'names a GPU twice'],
    [
      'instance_group { kind: KIND_GPU }',
      { ...twoGpus, devices: 0 },
      'instance_group[0].kind',
      'or worker.gpusMax hides it',
    ],
    [
      'instance_group { kind: KIND_GPU }',
      { ...twoGpus, hasCuda: false },
      'instance_group[0].kind',
      "needs the engine's CUDA provider",
    ],
    [
      'instance_group { name: "a" } instance_group { name: "a" }',
      twoGpus,
      'instance_group[1].name',
      'is also the name of another group',
    ],
    ['instance_group { count: 2147483647 }', twoGpus, 'instance_group[0].count', 'must be from 1 to 256'],
    [
      'instance_group { kind: KIND_CPU count: 256 } instance_group { kind: KIND_CPU count: 1 }',
      twoGpus,
      'instance_group',
      'ask for 257 instances together',
    ],
    [
      'parameters { key: "millrace.gpu_batch_sizes" value { string_value: "4,2" } }',
      twoGpus,
      'parameters["millrace.gpu_batch_sizes"]',
      'is not a list of sizes',
    ],
    [
      'parameters { key: "millrace.gpu_batch_sizes" value { string_value: "" } }',
      twoGpus,
      'parameters["millrace.gpu_batch_sizes"]',
      'is not a list of sizes',
    ],
    [
      'parameters { key: "millrace.gpu_batch_sizes" value { string_value: "1,4" } }',
      twoGpus,
      'parameters["millrace.gpu_batch_sizes"]',
      'the last size must be the max_batch_size, 8',
    ],
    ['instance_group { count: 129 }', twoGpus, 'instance_group', 'ask for 258 instances together'],
  ])('%s is reported as a problem of its field', async (config, gpu, field, message) => {
    const { failures } = await readTestModel({ config: `${testConfig} ${config}`, gpu });
    const problems = failures.flatMap((failure) => failure.problems);
    expect(problems).toContainEqual(expect.objectContaining({ field, message: expect.stringContaining(message) }));
  });
});
