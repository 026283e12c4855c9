import type { OnnxGraph, OnnxTensor } from '@millrace/onnx';
import type { TensorSpec } from '@millrace/protocol';
import type { InstanceGroup } from '../../../model/instance-group.ts';
import { withReport } from '../../../model/run-sharing.ts';
import type { BatchingChoice } from '../../batching-choice.ts';
import { carryingProblem, type TensorRole } from '../../carrying-problem.ts';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig, ModelConfigInput, ModelConfigOutput } from '../../config-text/model-config-schema.ts';
import { suggestionFor } from '../../config-text/suggestion.ts';
import { modelFilenameDefault } from '../../repository-layout.ts';
import { completeSequences } from '../../sequence-batching/read-sequencing.ts';
import { defaultedSpecFrom, specFrom, type WrittenTensor } from '../../tensor-config.ts';
import { overridableInputs, type PlainTensor, plainDefaultedInputs, plainTensorFrom } from './plain-tensor.ts';

export const onnxPlatformName = 'onnxruntime_onnx';
export const onnxBackendName = 'onnxruntime';

export interface CompletedConfig {
  readonly config: ModelConfig;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

/**
 * Completes a configuration from the graph of one version and checks it against that graph. Problems go to `findings`;
 * the result is of use only when there are none.
 */
export function completeConfig(
  config: ModelConfig,
  graph: OnnxGraph,
  modelName: string,
  groups: readonly InstanceGroup[],
  choice: BatchingChoice,
  findings: Findings,
): CompletedConfig {
  const { rowsMax } = choice;
  const isBatched = rowsMax > 0;
  const { entries: input, specs: inputs } = completeInputs(config.input ?? [], graph, isBatched, findings);
  const { entries: output, specs: outputs } = completeOutputs(config.output ?? [], graph, isBatched, findings);
  const sequences = config.sequence_batching;
  const batching = config.dynamic_batching ?? (choice.sharesRuns && sequences === undefined ? {} : undefined);
  checkBatching(config, choice, findings);
  const completed: ModelConfig = {
    ...config,
    name: modelName,
    platform: onnxPlatformName,
    backend: onnxBackendName,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: rowsMax,
    input,
    output,
    optimization: {
      ...config.optimization,
      input_pinned_memory: config.optimization?.input_pinned_memory ?? { enable: true },
      output_pinned_memory: config.optimization?.output_pinned_memory ?? { enable: true },
    },
    ...(batching === undefined ? {} : { dynamic_batching: completeBatching(batching, rowsMax) }),
    ...(sequences === undefined ? {} : { sequence_batching: completeSequences(sequences, rowsMax) }),
    instance_group: completeGroups(config, groups),
    default_model_filename: config.default_model_filename ?? modelFilenameDefault,
    parameters: withReport(config.parameters, choice),
  };
  return {
    config: completed,
    inputs,
    outputs,
  };
}

interface Completed<Entry> {
  readonly entries: readonly Entry[];
  readonly specs: readonly TensorSpec[];
}

function completeInputs(
  written: readonly ModelConfigInput[],
  graph: OnnxGraph,
  isBatched: boolean,
  findings: Findings,
): Completed<ModelConfigInput> {
  if (written.length === 0) {
    const plain: PlainTensor<ModelConfigInput>[] = plainTensors(graph.inputs, 'input', isBatched, findings);
    return completedFrom([...plain, ...plainDefaultedInputs(graph, findings)]);
  }
  checkInputs(written, graph, findings);
  const overridable = overridableInputs(graph);
  const tensors = [...graph.inputs, ...overridable];
  const specs = matchEntries(written, tensors, 'input', findings, (entry, tensor, path) => {
    const hasDefault = overridable.includes(tensor);
    const spec = (hasDefault ? defaultedSpecFrom : specFrom)(entry, tensor, isBatched, path, findings);
    return spec && (entry as ModelConfigInput).optional === true ? { ...spec, isOptional: true } : spec;
  });
  return { entries: written, specs };
}

function completeOutputs(
  written: readonly ModelConfigOutput[],
  graph: OnnxGraph,
  isBatched: boolean,
  findings: Findings,
): Completed<ModelConfigOutput> {
  if (written.length === 0) return completedFrom(plainTensors(graph.outputs, 'output', isBatched, findings));
  const specs = matchEntries(written, graph.outputs, 'output', findings, (entry, tensor, path) =>
    specFrom(entry, tensor, isBatched, path, findings),
  );
  return { entries: written, specs };
}

function plainTensors(
  tensors: readonly OnnxTensor[],
  role: TensorRole,
  isBatched: boolean,
  findings: Findings,
): PlainTensor[] {
  return tensors.flatMap((tensor) => {
    const problem = carryingProblem(tensor, role);
    if (problem === undefined) return [plainTensorFrom(tensor, isBatched)];
    findings.problem('', problem);
    return [];
  });
}

function completedFrom<Entry extends WrittenTensor>(tensors: readonly PlainTensor<Entry>[]): Completed<Entry> {
  return { entries: tensors.map(({ entry }) => entry), specs: tensors.map(({ spec }) => spec) };
}

function matchEntries(
  entries: readonly WrittenTensor[],
  tensors: readonly OnnxTensor[],
  field: TensorRole,
  findings: Findings,
  specOf: (entry: WrittenTensor, tensor: OnnxTensor, path: string) => TensorSpec | undefined,
): readonly TensorSpec[] {
  const specs: TensorSpec[] = [];
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const path = `${field}[${index}]`;
    const name = entry.name ?? '';
    const tensor = tensors.find((candidate) => candidate.name === name);
    const names = tensors.map((candidate) => candidate.name);
    if (name === '') findings.problem(`${path}.name`, `is missing; the graph has ${names.join(', ')}`);
    else if (seen.has(name)) findings.problem(`${path}.name`, `${JSON.stringify(name)} is listed twice`);
    else if (tensor === undefined) {
      const hint = suggestionFor(name, names) || `; it has ${names.join(', ')}`;
      findings.problem(`${path}.name`, `the graph has no ${field} ${JSON.stringify(name)}${hint}`);
    } else {
      const problem = carryingProblem(tensor, field);
      if (problem !== undefined) findings.problem(`${path}.name`, problem);
      const spec = specOf(entry, tensor, path);
      if (spec !== undefined) specs.push(spec);
    }
    seen.add(name);
  }
  return specs;
}

const formatDims = 3;

function checkInputs(written: readonly ModelConfigInput[], graph: OnnxGraph, findings: Findings): void {
  for (const [index, input] of written.entries()) {
    if (input.optional === true && graph.inputs.some(({ name }) => name === input.name)) {
      findings.problem(`input[${index}].optional`, 'the graph has no default value for this input; remove optional');
    }
    const format = input.format ?? 'FORMAT_NONE';
    if (format !== 'FORMAT_NONE' && input.dims?.length !== formatDims) {
      findings.problem(
        `input[${index}].format`,
        `${format} needs ${formatDims} dims; write FORMAT_NONE or all of them`,
      );
    }
  }
  const missing = graph.inputs.filter(({ name }) => !written.some((input) => input.name === name));
  if (missing.length > 0) {
    const names = missing.map(({ name }) => JSON.stringify(name)).join(', ');
    findings.problem('input', `does not list ${names}, which the graph requires; add it`);
  }
}

type DynamicBatching = NonNullable<ModelConfig['dynamic_batching']>;

function checkBatching(
  config: ModelConfig,
  { rowsMax, isGuessed, reason, advice }: BatchingChoice,
  findings: Findings,
): void {
  const batching = config.dynamic_batching;
  if (batching !== undefined && rowsMax === 0 && isGuessed) {
    findings.warning('dynamic_batching', `forms no batches: ${reason}; ${advice}`);
    return;
  }
  for (const [index, size] of (batching?.preferred_batch_size ?? []).entries()) {
    if (size < 1 || size > rowsMax) {
      findings.problem(
        `dynamic_batching.preferred_batch_size[${index}]`,
        `${size} is out of range; it must be from 1 to max_batch_size (${rowsMax})`,
      );
    }
  }
}

function completeBatching(batching: DynamicBatching, rowsMax: number): DynamicBatching {
  if ((batching.preferred_batch_size ?? []).length > 0 || rowsMax < 1) return batching;
  return { ...batching, preferred_batch_size: [rowsMax] };
}

function completeGroups(
  config: ModelConfig,
  groups: readonly InstanceGroup[],
): NonNullable<ModelConfig['instance_group']> {
  return groups.map((group, index) => ({
    ...config.instance_group?.[index],
    name: group.name,
    kind: group.device === 'gpu' ? 'KIND_GPU' : 'KIND_CPU',
    count: group.count,
    gpus: group.gpus,
  }));
}
