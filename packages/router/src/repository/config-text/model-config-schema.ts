/** Triton's ModelConfig, field by field in the order of its JSON form. */
import {
  bool,
  choiceMessage,
  choiceScalar,
  double,
  float,
  int32,
  int64,
  list,
  type MessageOf,
  map,
  message,
  oneOfNames,
  string,
  uint32,
  uint64,
} from './schema.ts';

const dataType = oneOfNames(
  'TYPE_INVALID',
  'TYPE_BOOL',
  'TYPE_UINT8',
  'TYPE_UINT16',
  'TYPE_UINT32',
  'TYPE_UINT64',
  'TYPE_INT8',
  'TYPE_INT16',
  'TYPE_INT32',
  'TYPE_INT64',
  'TYPE_FP16',
  'TYPE_FP32',
  'TYPE_FP64',
  'TYPE_STRING',
  'TYPE_BF16',
);

const rateLimiter = {
  resources: list(message({ name: string, global: bool, count: uint32 })),
  priority: uint32,
};

const instanceGroup = {
  name: string,
  kind: oneOfNames('KIND_AUTO', 'KIND_GPU', 'KIND_CPU', 'KIND_MODEL'),
  count: int32,
  rate_limiter: message(rateLimiter),
  gpus: list(int32),
  secondary_devices: list(message({ kind: oneOfNames('KIND_NVDLA'), device_id: int64 })),
  profile: list(string),
  passive: bool,
  host_policy: string,
};

const reshape = message({ shape: list(int64) });

const input = {
  name: string,
  data_type: dataType,
  format: oneOfNames('FORMAT_NONE', 'FORMAT_NHWC', 'FORMAT_NCHW'),
  dims: list(int64),
  reshape,
  is_shape_tensor: bool,
  allow_ragged_batch: bool,
  optional: bool,
  is_non_linear_format_io: bool,
};

const output = {
  name: string,
  data_type: dataType,
  dims: list(int64),
  reshape,
  label_filename: string,
  is_shape_tensor: bool,
  is_non_linear_format_io: bool,
};

const batchInput = {
  kind: oneOfNames(
    'BATCH_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT',
    'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
    'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE',
    'BATCH_ITEM_SHAPE',
    'BATCH_ITEM_SHAPE_FLATTEN',
  ),
  target_name: list(string),
  data_type: dataType,
  source_input: list(string),
};

const batchOutput = {
  target_name: list(string),
  kind: oneOfNames('BATCH_SCATTER_WITH_INPUT_SHAPE'),
  source_input: list(string),
};

const versionPolicy = {
  latest: choiceMessage('policy_choice', { num_versions: uint32 }),
  all: choiceMessage('policy_choice', {}),
  specific: choiceMessage('policy_choice', { versions: list(int64) }),
};

const graphShape = message({ dim: list(int64) });

const cuda = {
  graphs: bool,
  busy_wait_events: bool,
  graph_spec: list(
    message({
      batch_size: int32,
      input: map('string', graphShape),
      graph_lower_bound: message({ batch_size: int32, input: map('string', graphShape) }),
    }),
  ),
  output_copy_stream: bool,
};

const accelerator = message({ name: string, parameters: map('string', string) });

const optimization = {
  graph: message({ level: int32 }),
  priority: oneOfNames('PRIORITY_DEFAULT', 'PRIORITY_MAX', 'PRIORITY_MIN'),
  cuda: message(cuda),
  execution_accelerators: message({
    gpu_execution_accelerator: list(accelerator),
    cpu_execution_accelerator: list(accelerator),
  }),
  input_pinned_memory: message({ enable: bool }),
  output_pinned_memory: message({ enable: bool }),
  gather_kernel_buffer_threshold: uint32,
  eager_batching: bool,
};

const queuePolicy = message({
  timeout_action: oneOfNames('REJECT', 'DELAY'),
  default_timeout_microseconds: uint64,
  allow_timeout_override: bool,
  max_queue_size: uint32,
});

const dynamicBatching = {
  preferred_batch_size: list(int32),
  max_queue_delay_microseconds: uint64,
  preserve_ordering: bool,
  priority_levels: uint64,
  default_priority_level: uint64,
  default_queue_policy: queuePolicy,
  priority_queue_policy: map('uint64', queuePolicy),
};

const sequenceControl = {
  kind: oneOfNames(
    'CONTROL_SEQUENCE_START',
    'CONTROL_SEQUENCE_READY',
    'CONTROL_SEQUENCE_END',
    'CONTROL_SEQUENCE_CORRID',
  ),
  int32_false_true: list(int32),
  fp32_false_true: list(float),
  bool_false_true: list(bool),
  data_type: dataType,
};

const sequenceState = {
  input_name: string,
  output_name: string,
  data_type: dataType,
  dims: list(int64),
  initial_state: list(
    message({
      data_type: dataType,
      dims: list(int64),
      zero_data: choiceScalar('state_data', bool),
      data_file: choiceScalar('state_data', string),
      name: string,
    }),
  ),
  use_same_buffer_for_input_output: bool,
  use_growable_memory: bool,
};

const sequenceBatching = {
  direct: choiceMessage('strategy_choice', { max_queue_delay_microseconds: uint64, minimum_slot_utilization: float }),
  oldest: choiceMessage('strategy_choice', {
    max_candidate_sequences: int32,
    preferred_batch_size: list(int32),
    max_queue_delay_microseconds: uint64,
    preserve_ordering: bool,
  }),
  max_sequence_idle_microseconds: uint64,
  control_input: list(message({ name: string, control: list(message(sequenceControl)) })),
  state: list(message(sequenceState)),
  iterative_sequence: bool,
};

const ensembleScheduling = {
  step: list(
    message({
      model_name: string,
      model_version: int64,
      input_map: map('string', string),
      output_map: map('string', string),
      model_namespace: string,
    }),
  ),
  max_inflight_requests: uint32,
};

const warmupInput = {
  data_type: dataType,
  dims: list(int64),
  zero_data: choiceScalar('input_data_type', bool),
  random_data: choiceScalar('input_data_type', bool),
  input_data_file: choiceScalar('input_data_type', string),
};

const metricControl = {
  metric_identifier: message({ family: string }),
  histogram_options: choiceMessage('metric_options', { buckets: list(double) }),
};

export const modelConfigSchema = {
  name: string,
  platform: string,
  backend: string,
  runtime: string,
  version_policy: message(versionPolicy),
  max_batch_size: int32,
  input: list(message(input)),
  output: list(message(output)),
  batch_input: list(message(batchInput)),
  batch_output: list(message(batchOutput)),
  optimization: message(optimization),
  dynamic_batching: choiceMessage('scheduling_choice', dynamicBatching),
  sequence_batching: choiceMessage('scheduling_choice', sequenceBatching),
  ensemble_scheduling: choiceMessage('scheduling_choice', ensembleScheduling),
  instance_group: list(message(instanceGroup)),
  default_model_filename: string,
  cc_model_filenames: map('string', string),
  metric_tags: map('string', string),
  parameters: map('string', message({ string_value: string })),
  model_warmup: list(
    message({ name: string, batch_size: uint32, inputs: map('string', message(warmupInput)), count: uint32 }),
  ),
  model_operations: message({ op_library_filename: list(string) }),
  model_transaction_policy: message({ decoupled: bool }),
  model_repository_agents: message({ agents: list(message({ name: string, parameters: map('string', string) })) }),
  response_cache: message({ enable: bool }),
  model_metrics: message({ metric_control: list(message(metricControl)) }),
};

/** A model's configuration as far as it was written. */
export type ModelConfig = MessageOf<typeof modelConfigSchema>;
export type ModelConfigInput = NonNullable<ModelConfig['input']>[number];
export type ModelConfigOutput = NonNullable<ModelConfig['output']>[number];
