import { describe, expect, test } from 'vitest';
import { serveTestModel } from './testing/test-model.ts';

describe('unsupported fields that do not change answers are served with a warning', () => {
  test.each([
    ['runtime: "libtriton.so"', 'runtime'],
    ['cc_model_filenames { key: "7.5" value: "x" }', 'cc_model_filenames'],
    ['metric_tags { key: "a" value: "b" }', 'metric_tags'],
    ['model_metrics { metric_control { } }', 'model_metrics'],
    ['optimization { graph { level: 1 } }', 'optimization.graph'],
    ['optimization { priority: PRIORITY_MAX }', 'optimization.priority'],
    ['optimization { cuda { graphs: true } }', 'optimization.cuda'],
    [
      'optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }',
      'optimization.execution_accelerators.gpu_execution_accelerator[0]',
    ],
    [
      'optimization { execution_accelerators { cpu_execution_accelerator { name: "openvino" } } }',
      'optimization.execution_accelerators.cpu_execution_accelerator[0]',
    ],
    ['optimization { gather_kernel_buffer_threshold: 1 }', 'optimization.gather_kernel_buffer_threshold'],
    ['optimization { eager_batching: true }', 'optimization.eager_batching'],
    ['instance_group { kind: KIND_MODEL }', 'instance_group[0].kind'],
    ['instance_group { rate_limiter { } }', 'instance_group[0].rate_limiter'],
    ['instance_group { host_policy: "p" }', 'instance_group[0].host_policy'],
    ['parameters { key: "other" value { string_value: "1" } }', 'parameters["other"]'],
  ])('%s', async (config, fieldPath) => {
    const { warnings } = await serveTestModel({ config: `\n${config}` });
    expect(warnings.map(({ line, field: path }) => [line, path])).toEqual([[2, fieldPath]]);
  });

  test.each([
    'response_cache { enable: false }',
    'model_transaction_policy { decoupled: false }',
    'dynamic_batching { }',
    'optimization { input_pinned_memory { enable: false } }',
    'input { name: "x" data_type: TYPE_FP32 dims: 4 optional: false is_shape_tensor: false }',
  ])('%s asks for nothing and gets no warning', async (config) => {
    expect((await serveTestModel({ config })).warnings).toEqual([]);
  });
});
