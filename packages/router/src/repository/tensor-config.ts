/** One input or output: as the graph has it, as a configuration writes it, and whether the two agree. */

import { datatypeFromElementType, type OnnxTensor } from '@millrace/onnx';
import { datatypes, type TensorSpec } from '@millrace/protocol';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfigInput, ModelConfigOutput } from './config-text/model-config-schema.ts';

/** What inputs and outputs have in common. */
export type WrittenTensor = Pick<ModelConfigInput & ModelConfigOutput, 'name' | 'data_type' | 'dims' | 'reshape'>;

/** The graph's shape with -1 for every free size; undefined when the graph does not state one. */
export function freeShape(tensor: OnnxTensor): readonly number[] | undefined {
  return tensor.shape?.map((dimension) => (typeof dimension === 'number' ? dimension : -1));
}

/**
 * Checks a written entry against the graph. The spec is what callers see, in Triton's form; undefined when a problem was
 * found.
 */
export function specFrom(
  written: WrittenTensor,
  tensor: OnnxTensor,
  isBatched: boolean,
  path: string,
  findings: Findings,
): TensorSpec | undefined {
  const datatype = datatypeFromElementType(tensor.elementType);
  if (datatype === undefined) return undefined;
  const typeName = datatypes[datatype].configName;
  const problemsBefore = findings.problems.length;
  if (written.data_type === undefined || written.data_type === 'TYPE_INVALID') {
    findings.problem(`${path}.data_type`, `is missing; the graph has ${typeName}`);
  } else if (written.data_type !== typeName) {
    findings.problem(`${path}.data_type`, `is ${written.data_type}, but the graph has ${typeName}`);
  }
  const dims = readDims(written.dims, `${path}.dims`, findings);
  const reshaped =
    written.reshape === undefined ? undefined : readDims(written.reshape.shape, `${path}.reshape.shape`, findings);
  const graphShape = freeShape(tensor);
  const rowShape = isBatched ? graphShape?.slice(1) : graphShape;
  if (dims !== undefined && dims.length === 0) {
    // As it must be written: dims may not be empty, so that a single value is a list of one.
    const shown = rowShape?.length === 0 ? [1] : rowShape;
    const hint = shown === undefined ? '' : `; the graph has [ ${shown.join(', ')} ]`;
    findings.problem(`${path}.dims`, `is missing${hint}`);
    return undefined;
  }
  if (dims === undefined) return undefined;
  if (reshaped !== undefined) checkReshape(dims, reshaped, `${path}.reshape`, findings);
  // A list of one stands for a single value and needs no reshape.
  const isListOfOne = written.reshape === undefined && rowShape?.length === 0 && dims.length === 1 && dims[0] === 1;
  const engineDims = reshaped ?? (isListOfOne ? [] : undefined);
  const shapePath = written.reshape === undefined ? `${path}.dims` : `${path}.reshape.shape`;
  checkShape(engineDims ?? dims, graphShape, isBatched, shapePath, findings);
  if (findings.problems.length > problemsBefore) return undefined;
  const withRows = (shape: readonly number[]) => (isBatched ? [-1, ...shape] : shape);
  const spec = { name: tensor.name, datatype, shape: withRows(dims) };
  return engineDims === undefined ? spec : { ...spec, engineShape: withRows(engineDims) };
}

/**
 * The same for an input that the graph has a value for. Its shape is written as the graph has it, for it has no batch
 * dimension; where the graph begins with a free size, that may be left out as it is elsewhere.
 */
export function defaultedSpecFrom(
  written: WrittenTensor,
  tensor: OnnxTensor,
  isBatched: boolean,
  path: string,
  findings: Findings,
): TensorSpec | undefined {
  const graphShape = freeShape(tensor);
  const rank = (written.reshape?.shape ?? written.dims ?? []).length;
  const leavesBatchOut = isBatched && graphShape?.[0] === -1 && rank === graphShape.length - 1;
  const spec = specFrom(written, tensor, leavesBatchOut, path, findings);
  return spec && { ...spec, hasDefault: true };
}

/** Sizes as written; undefined when a problem was found. */
export function readDims(
  written: readonly (number | bigint)[] | undefined,
  path: string,
  findings: Findings,
): readonly number[] | undefined {
  const dims: number[] = [];
  for (const [index, size] of (written ?? []).entries()) {
    if (typeof size === 'bigint' || (size < 1 && size !== -1)) {
      findings.problem(
        `${path}[${index}]`,
        `${size} is not a size; write a whole number from 1, or -1 for a free size`,
      );
      return undefined;
    }
    dims.push(size);
  }
  return dims;
}

/** Both shapes must hold as many elements, whatever the free sizes are. */
export function checkReshape(
  dims: readonly number[],
  shape: readonly number[],
  path: string,
  findings: Findings,
): void {
  const fixed = (sizes: readonly number[]) =>
    sizes.filter((size) => size !== -1).reduce((product, size) => product * BigInt(size), 1n);
  const free = (sizes: readonly number[]) => sizes.filter((size) => size === -1).length;
  if (fixed(dims) !== fixed(shape) || free(dims) !== free(shape)) {
    findings.problem(
      path,
      `[ ${shape.join(', ')} ] does not hold as many elements as dims [ ${dims.join(', ')} ]; the products of ` +
        'the fixed sizes and the numbers of free sizes must be equal',
    );
  }
}

function checkShape(
  dims: readonly number[],
  graphShape: readonly number[] | undefined,
  isBatched: boolean,
  path: string,
  findings: Findings,
): void {
  if (graphShape === undefined) return;
  if (isBatched && graphShape[0] !== -1) {
    findings.problem(
      path,
      `max_batch_size is above 0, but the graph's shape [ ${graphShape.join(', ')} ] does not begin with a free size; ` +
        'set max_batch_size to 0 and write the whole shape, or export the model with a free first size',
    );
    return;
  }
  const wanted = isBatched ? graphShape.slice(1) : graphShape;
  const matches =
    dims.length === wanted.length && dims.every((size, index) => wanted[index] === -1 || wanted[index] === size);
  if (matches) return;
  const rows = isBatched ? ' (after the batch dimension, which is not written)' : '';
  findings.problem(path, `is [ ${dims.join(', ')} ], but the graph has [ ${wanted.join(', ')} ]${rows}`);
}
