/** Reads how requests of unequal shapes share a batch: Triton's ragged batches, and padding. */

import { datatypeFromElementType, type OnnxGraph, type OnnxTensor } from '@millrace/onnx';
import { type TensorSpec, takeDatatypeOfConfig } from '@millrace/protocol';
import type { BatchShaping, GeneratedInput, InputShaping, OutputShaping } from '../../model/batch-shaping.ts';
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import { freeShape } from '../tensor-config.ts';
import { readPadding } from './read-padding.ts';

/**
 * The graph as clients see it: without the inputs that the server makes, and with ragged tensors, which the graph has as
 * one list, in the shape that the configuration gives them.
 */
export function unraggedGraphOf(graph: OnnxGraph, config: ModelConfig): OnnxGraph {
  const generated = new Set((config.batch_input ?? []).flatMap(({ target_name: names = [] }) => names));
  const scattered = new Set((config.batch_output ?? []).flatMap(({ target_name: names = [] }) => names));
  const ragged = new Set((config.input ?? []).filter(isRagged).map(({ name }) => name ?? ''));
  if (generated.size + scattered.size + ragged.size === 0) return graph;
  const dimsOf = (entries: ModelConfig['output'], tensor: OnnxTensor): OnnxTensor => {
    const dims = entries?.find(({ name }) => name === tensor.name)?.dims ?? [];
    return { ...tensor, shape: ['', ...dims.map((size) => (size < 0 ? '' : Number(size)))] };
  };
  return {
    ...graph,
    inputs: graph.inputs
      .filter(({ name }) => !generated.has(name))
      .map((tensor) => (ragged.has(tensor.name) ? dimsOf(config.input, tensor) : tensor)),
    outputs: graph.outputs.map((tensor) => (scattered.has(tensor.name) ? dimsOf(config.output, tensor) : tensor)),
  };
}

interface Shaped {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly isBatched: boolean;
}

/** Undefined: only requests of equal shapes share a batch. */
export function readShaping(
  config: ModelConfig,
  graph: OnnxGraph,
  view: Shaped,
  findings: Findings,
): BatchShaping | undefined {
  const { inputs, outputs } = view;
  const padding = readPadding(config, view, findings);
  const ragged = new Set<number>();
  for (const [position, entry] of (config.input ?? []).entries()) {
    if (!isRagged(entry)) continue;
    const index = inputs.findIndex(({ name }) => name === entry.name);
    if (index >= 0) ragged.add(index);
    const path = `input[${position}].allow_ragged_batch`;
    checkFlat(graph.inputs, entry.name, path, findings);
    if (padding.fills.has(index)) findings.problem(path, 'the input is padded by a parameter too; remove one');
  }
  const generated = readGenerated(config, graph, inputs, findings);
  const scattered = readScattered(config, graph, view, findings);
  const isPlain = ragged.size + generated.length + scattered.size + padding.fills.size + padding.cuts.size === 0;
  if (isPlain) return undefined;
  checkCompany(config, view, findings);
  const flat = (spec: TensorSpec): TensorSpec => ({ ...spec, shape: [-1] });
  return {
    inputs: inputs.map((_, index): InputShaping => {
      const fill = padding.fills.get(index);
      if (fill !== undefined) return { kind: 'padded', fill };
      return ragged.has(index) ? { kind: 'ragged' } : { kind: 'equal' };
    }),
    outputs: outputs.map((_, index): OutputShaping => {
      const input = scattered.get(index);
      const cuts = padding.cuts.get(index);
      if (input !== undefined) return { kind: 'scattered', input };
      return cuts === undefined ? { kind: 'rows' } : { kind: 'cut', cuts };
    }),
    generated: generated.map(({ input }) => input),
    padRatioMax: padding.ratioMax,
    engine: {
      inputs: [
        ...inputs.map((spec, index) => (ragged.has(index) ? flat(spec) : spec)),
        ...generated.map(({ spec }) => spec),
      ],
      outputs: outputs.map((spec, index) => (scattered.has(index) ? flat(spec) : spec)),
      // Where a tensor is one list for all requests, its first size is not the number of rows.
      isBatched:
        ragged.size === 0 && scattered.size === 0 && generated.every(({ input }) => input.kind === 'BATCH_ITEM_SHAPE'),
    },
  };
}

function isRagged(entry: { readonly allow_ragged_batch?: boolean }): boolean {
  return entry.allow_ragged_batch === true;
}

/** Refuses settings that cannot be combined with unequal shapes. */
function checkCompany(config: ModelConfig, view: Shaped, findings: Findings): void {
  if (!view.isBatched) {
    findings.problem(
      'max_batch_size',
      'is 0, so there are no batches to pad or to make ragged; set it to 1 or more, or remove the padding and ragged settings',
    );
  }
  if (config.sequence_batching !== undefined) {
    findings.problem('sequence_batching', 'cannot be combined with ragged or padded inputs; remove one of them');
  }
  for (const [field, entries] of [
    ['input', config.input ?? []],
    ['output', config.output ?? []],
  ] as const) {
    for (const [index, { reshape }] of entries.entries()) {
      if (reshape === undefined) continue;
      findings.problem(`${field}[${index}].reshape`, 'cannot be combined with ragged or padded inputs; remove it');
    }
  }
}

function checkFlat(tensors: readonly OnnxTensor[], name: string | undefined, path: string, findings: Findings): void {
  const tensor = tensors.find((candidate) => candidate.name === name);
  const shape = tensor === undefined ? undefined : freeShape(tensor);
  if (shape === undefined || (shape.length === 1 && shape[0] === -1)) return;
  const found = `the graph has [ ${shape.join(', ')} ]`;
  findings.problem(
    path,
    `${found}, but a ragged tensor must be one list of all elements, [ -1 ]; export it with that shape, or pad it`,
  );
}

interface ReadGenerated {
  readonly input: GeneratedInput;
  readonly spec: TensorSpec;
}

const generatedDatatypes = ['INT32', 'INT64', 'FP32'] as const;

function readGenerated(
  config: ModelConfig,
  graph: OnnxGraph,
  inputs: readonly TensorSpec[],
  findings: Findings,
): readonly ReadGenerated[] {
  const read: ReadGenerated[] = [];
  for (const [index, entry] of (config.batch_input ?? []).entries()) {
    const path = `batch_input[${index}]`;
    const target = takeOnly(entry.target_name, `${path}.target_name`, findings);
    const source = takeSource(entry.source_input, inputs, `${path}.source_input`, findings);
    const tensor = graph.inputs.find(({ name }) => name === target);
    if (target !== undefined && tensor === undefined) {
      findings.problem(`${path}.target_name`, `the graph has no input ${JSON.stringify(target)}`);
    }
    const datatype = generatedDatatypes.find((name) => name === takeDatatypeOfConfig(entry.data_type ?? ''));
    if (datatype === undefined) {
      findings.problem(`${path}.data_type`, 'must be TYPE_INT32, TYPE_INT64 or TYPE_FP32');
    } else if (tensor !== undefined && datatypeFromElementType(tensor.elementType) !== datatype) {
      findings.problem(`${path}.data_type`, `is not the graph's type of ${JSON.stringify(target)}`);
    }
    if (tensor === undefined || datatype === undefined || source === undefined) continue;
    const kind = entry.kind ?? 'BATCH_ELEMENT_COUNT';
    const axes = (inputs[source] as TensorSpec).shape.length - 1;
    const shape = kind === 'BATCH_ITEM_SHAPE' ? [-1, axes] : [-1];
    const found = freeShape(tensor) ?? shape;
    const fits = found.length === shape.length && found.every((size, axis) => size === -1 || size === shape[axis]);
    if (!fits) {
      const made = `${kind} makes a list of the shape [ ${shape.join(', ')} ]`;
      findings.problem(
        `${path}.target_name`,
        `the graph has [ ${found.join(', ')} ], but ${made}; export it with that shape`,
      );
    }
    read.push({ input: { kind, datatype, source }, spec: { name: tensor.name, datatype, shape } });
  }
  return read;
}

function readScattered(
  config: ModelConfig,
  graph: OnnxGraph,
  { inputs, outputs }: Shaped,
  findings: Findings,
): ReadonlyMap<number, number> {
  const scattered = new Map<number, number>();
  for (const [index, entry] of (config.batch_output ?? []).entries()) {
    const path = `batch_output[${index}]`;
    const source = takeSource(entry.source_input, inputs, `${path}.source_input`, findings);
    for (const target of entry.target_name ?? []) {
      const output = outputs.findIndex(({ name }) => name === target);
      const spec = outputs[output];
      if (spec === undefined) {
        findings.problem(`${path}.target_name`, `the model has no output ${JSON.stringify(target)}`);
        continue;
      }
      checkFlat(graph.outputs, target, `${path}.target_name`, findings);
      if (spec.datatype === 'BYTES') findings.problem(`${path}.target_name`, 'an output of texts cannot be scattered');
      if (source === undefined) continue;
      if (spec.shape.length !== inputs[source]?.shape.length) {
        findings.problem(`${path}.source_input`, `must have as many dims as ${JSON.stringify(target)}`);
      }
      scattered.set(output, source);
    }
    if ((entry.target_name ?? []).length === 0) findings.problem(`${path}.target_name`, 'is missing; name an output');
  }
  return scattered;
}

function takeOnly(names: readonly string[] | undefined, path: string, findings: Findings): string | undefined {
  if (names?.length === 1) return names[0];
  findings.problem(path, `must be exactly one name; it has ${names?.length ?? 0}`);
  return undefined;
}

function takeSource(
  names: readonly string[] | undefined,
  inputs: readonly TensorSpec[],
  path: string,
  findings: Findings,
): number | undefined {
  const name = takeOnly(names, path, findings);
  if (name === undefined) return undefined;
  const index = inputs.findIndex((input) => input.name === name);
  if (index < 0) findings.problem(path, `the model has no input ${JSON.stringify(name)}`);
  else if (inputs[index]?.isOptional === true)
    findings.problem(path, `${JSON.stringify(name)} is optional; name an input that every request has`);
  else return index;
  return undefined;
}
