import { expect, test } from 'vitest';
import { ModelInferRequestSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { ModelInputSchema, ModelWarmup_InputSchema } from '../../proto/generated/inference/model_config_pb.ts';
import { modelConfigSchema } from './model-config-schema.ts';
import { schemaFrom } from './schema.ts';

test('a descriptor gives fields by their original names in the order of their declaration', () => {
  expect(Object.entries(schemaFrom(ModelInputSchema)).map(([name, { kind }]) => [name, kind])).toEqual([
    ['name', 'string'],
    ['data_type', 'enum'],
    ['format', 'enum'],
    ['dims', 'list'],
    ['reshape', 'message'],
    ['is_shape_tensor', 'bool'],
    ['allow_ragged_batch', 'bool'],
    ['optional', 'bool'],
    ['is_non_linear_format_io', 'bool'],
  ]);
  expect(schemaFrom(ModelInputSchema).format).toEqual({
    kind: 'enum',
    names: ['FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'],
  });
});

test('members of a oneof name their choice', () => {
  expect(schemaFrom(ModelWarmup_InputSchema)).toMatchObject({
    zero_data: { kind: 'choice-scalar', scalar: 'bool', choice: 'input_data_type' },
    input_data_file: { kind: 'choice-scalar', scalar: 'string', choice: 'input_data_type' },
  });
  expect(modelConfigSchema).toMatchObject({
    dynamic_batching: { kind: 'message', choice: 'scheduling_choice' },
    ensemble_scheduling: { kind: 'message', choice: 'scheduling_choice' },
  });
});

test('maps have keys and values', () => {
  expect(modelConfigSchema.metric_tags).toEqual({ kind: 'map', key: 'string', value: { kind: 'string' } });
  expect(modelConfigSchema.dynamic_batching).toMatchObject({
    message: { priority_queue_policy: { kind: 'map', key: 'uint64', value: { kind: 'message' } } },
  });
});

test('a field of an unsupported kind throws when the schema is built', () => {
  expect(() => schemaFrom(ModelInferRequestSchema)).toThrow(/cannot be read yet/);
});
