/** Configuration fields that Millrace does not support, and whether the model can be served without them. */
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

interface Rule {
  readonly field: string;
  readonly isSet: (config: ModelConfig) => boolean;
  /** Why, and what to do. */
  readonly message: string;
}

/** Answers would be wrong, or a protection that the operator expects would be missing: the model is not served. */
const refusals: readonly Rule[] = [
  {
    field: 'sequence_batching.iterative_sequence',
    isSet: (config) => config.sequence_batching?.iterative_sequence === true,
    message: 'iterative sequences are not supported: an ONNX model answers each request in one run; set it to false',
  },
  {
    field: 'model_operations.op_library_filename',
    isSet: (config) => isFilled(config.model_operations?.op_library_filename),
    message: 'custom operator libraries are not supported; export the model with standard operators',
  },
  {
    field: 'model_repository_agents.agents',
    isSet: (config) => isFilled(config.model_repository_agents?.agents),
    message: 'repository agents are not supported, so their checks would be skipped; remove them to serve without',
  },
];

/** The answers are the same without it. */
const warnings: readonly Rule[] = [
  {
    field: 'runtime',
    isSet: (config) => isWritten(config.runtime),
    message: 'has no effect: the engine is the ONNX Runtime that Millrace carries',
  },
  {
    field: 'cc_model_filenames',
    isSet: (config) => isFilledMap(config.cc_model_filenames),
    message: 'has no effect: every device runs default_model_filename',
  },
  {
    field: 'metric_tags',
    isSet: (config) => isFilledMap(config.metric_tags),
    message: 'is not added to the metrics yet',
  },
  {
    field: 'model_metrics',
    isSet: (config) => isFilled(config.model_metrics?.metric_control),
    message: 'has no effect: histogram buckets are the same for all models',
  },
  {
    field: 'optimization.graph',
    isSet: (config) => (config.optimization?.graph?.level ?? 0) !== 0,
    message: 'has no effect: every graph optimisation is on',
  },
  {
    field: 'optimization.priority',
    isSet: (config) => (config.optimization?.priority ?? 'PRIORITY_DEFAULT') !== 'PRIORITY_DEFAULT',
    message: 'has no effect: instances run at the priority of the process',
  },
  {
    field: 'optimization.cuda',
    isSet: (config) => config.optimization?.cuda !== undefined,
    message: 'has no effect: CUDA graphs and streams are left to the engine',
  },
  {
    field: 'optimization.gather_kernel_buffer_threshold',
    isSet: (config) => isPositive(config.optimization?.gather_kernel_buffer_threshold),
    message: 'has no effect: inputs are gathered on the CPU',
  },
  {
    field: 'optimization.eager_batching',
    isSet: (config) => config.optimization?.eager_batching === true,
    message: 'has no effect: rows of a batch are laid side by side as they arrive anyway',
  },
];

/** Pinned memory is deliberately not listed: it changes only the speed on a GPU, and it is Triton's default. */
export function checkUnservedFields(config: ModelConfig, findings: Findings): void {
  for (const { field, isSet, message } of refusals) if (isSet(config)) findings.problem(field, message);
  for (const { field, isSet, message } of warnings) if (isSet(config)) findings.warning(field, message);
  config.input?.forEach((input, index) => {
    if (input.is_shape_tensor === true) {
      findings.problem(`input[${index}].is_shape_tensor`, 'shape tensors exist in TensorRT only; remove it');
    }
    if (input.is_non_linear_format_io === true) {
      findings.problem(`input[${index}].is_non_linear_format_io`, 'exists in TensorRT only; remove it');
    }
  });
  config.output?.forEach((output, index) => {
    if (output.is_shape_tensor === true) {
      findings.problem(`output[${index}].is_shape_tensor`, 'shape tensors exist in TensorRT only; remove it');
    }
    if (output.is_non_linear_format_io === true) {
      findings.problem(`output[${index}].is_non_linear_format_io`, 'exists in TensorRT only; remove it');
    }
  });
}

function isWritten(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}

function isFilled(list: readonly unknown[] | undefined): boolean {
  return list !== undefined && list.length > 0;
}

function isFilledMap(map: object | undefined): boolean {
  return map !== undefined && Object.keys(map).length > 0;
}

function isPositive(value: number | bigint | undefined): boolean {
  return value !== undefined && value > 0;
}
