/**
 * The memory layout of a batch: the inputs of several requests are contiguous in one region, so that the engine reads them
 * as one tensor; the outputs are cut into each request's rows as views, without copying.
 */
import {
  type AnsweredMessage,
  alignedToCacheLine,
  type BatchTensor,
  elementCount,
  InferenceError,
  type Region,
  type Tensor,
  type TensorSpec,
  takeBytesRowOffsets,
  type WorkerLink,
} from '@millrace/protocol';
import { arrivingBytesMin } from './arriving-inputs.ts';
import { layOutShapedInputs, ShapedAnswer } from './batch-shaping/shaped-batch.ts';
import type { ServedModel } from './served-model.ts';
import { type Copy, copySlices } from './sliced-work/copy-slices.ts';
import { copySliceBytesMax, type Slices } from './sliced-work/sliced-work.ts';
import type { ValidInferRequest } from './valid-request.ts';

export interface LaidOutBatch {
  readonly region: Region;
  readonly inputs: readonly BatchTensor[];
  readonly outputs: readonly number[];
  /** The copies still to be made before the region holds the inputs; undefined: none, as for all but large batches. */
  readonly slices: Slices | undefined;
}

/** The part of a request that its batch reads. */
export type BatchPart = Pick<ValidInferRequest, 'inputs' | 'outputs' | 'rows'>;

/**
 * Writes the inputs of all requests into memory that the worker reads; each byte is copied once. Copies that are too large
 * for one turn of the event loop are returned as slices; the inputs must not change until these are done. Throws an `InferenceError`, and
 * lends nothing, where the requests cannot share a run.
 */
export function layOutBatch(
  model: ServedModel,
  requests: readonly BatchPart[],
  lend: (bytes: number) => Region,
  join?: WorkerLink['joinArrived'],
): LaidOutBatch {
  const first = requests[0] as BatchPart;
  if (model.shaping !== undefined) {
    return { ...layOutShapedInputs(requests, model.shaping, lend), outputs: outputsOf(requests) };
  }
  const inPlace = join && takeInPlace(requests, join);
  if (inPlace !== undefined) return inPlace;
  const offsets: number[] = [];
  let regionBytes = 0;
  for (let index = 0; index < first.inputs.length; index++) {
    offsets.push(regionBytes);
    if (first.inputs[index] === undefined) continue;
    let inputBytes = 0;
    for (const request of requests) inputBytes += (request.inputs[index] as Tensor).data.length;
    regionBytes += alignedToCacheLine(inputBytes);
  }
  const region = lend(regionBytes);
  const rows = totalRows(requests);
  const inputs: BatchTensor[] = [];
  const copies: Copy[] | undefined = regionBytes > copySliceBytesMax ? [] : undefined;
  for (let index = 0; index < first.inputs.length; index++) {
    const tensor = first.inputs[index];
    if (tensor === undefined) continue;
    const begin = offsets[index] as number;
    let end = begin;
    for (const request of requests) {
      const { data } = request.inputs[index] as Tensor;
      if (copies === undefined) region.bytes.set(data, end);
      else copies.push({ source: data, target: region.bytes.subarray(end, end + data.length) });
      end += data.length;
    }
    const shape = [...tensor.shape];
    // A request that runs alone keeps its shapes, also where they do not match the model's.
    if (model.view.isBatched && requests.length > 1) shape[0] = rows;
    inputs.push({ index, shape, data: region.bytes.subarray(begin, end) });
  }
  return { region, inputs, outputs: outputsOf(requests), slices: copies && copySlices(copies) };
}

/** The same in memory of the link. The error: the requests cannot share a run. */
export function layOutOrRefuse(
  model: ServedModel,
  requests: readonly BatchPart[],
  link: WorkerLink,
): LaidOutBatch | InferenceError {
  const join = (arrived: readonly Uint8Array[]): Region | undefined => link.joinArrived?.(arrived);
  try {
    return layOutBatch(model, requests, (bytes) => link.lend(bytes), join);
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
}

/** Inputs that have arrived where the worker reads them, as a request has them, or side by side. */
function takeInPlace(
  requests: readonly BatchPart[],
  join: NonNullable<WorkerLink['joinArrived']>,
): LaidOutBatch | undefined {
  const first = requests[0] as BatchPart;
  if (requests.length > 1 && first.inputs.length > 1) return undefined;
  const parts: Uint8Array[] = [];
  for (const { inputs } of requests) for (const tensor of inputs) if (tensor !== undefined) parts.push(tensor.data);
  if (requests.length === 1) parts.sort(byAddress);
  // Parts of one request lie in the same memory too, with other parts between them.
  else if (!areSideBySide(parts)) return undefined;
  const region = join(parts);
  if (region === undefined) return undefined;
  const inputs: BatchTensor[] = [];
  for (const [index, tensor] of first.inputs.entries()) {
    if (tensor === undefined) continue;
    if (requests.length === 1) inputs.push({ index, shape: [...tensor.shape], data: tensor.data });
    else inputs.push({ index, shape: [totalRows(requests), ...tensor.shape.slice(1)], data: region.bytes });
  }
  return { region, inputs, outputs: outputsOf(requests), slices: undefined };
}

function areSideBySide(parts: readonly Uint8Array[]): boolean {
  for (let index = 1; index < parts.length; index++) {
    const [before, part] = [parts[index - 1] as Uint8Array, parts[index] as Uint8Array];
    if (part.buffer !== before.buffer || part.byteOffset !== before.byteOffset + before.length) return false;
  }
  return true;
}

function byAddress(a: Uint8Array, b: Uint8Array): number {
  return a.byteOffset - b.byteOffset;
}

/**
 * Requests in the order in which their only input lies in memory, so that the inputs of a batch may be side by side: the
 * order of the rows means nothing. Small inputs are copied anyway.
 */
export function inMemoryOrder<Part extends { readonly valid: BatchPart }>(requests: Part[]): Part[] {
  const first = requests[0]?.valid.inputs;
  if (requests.length < 2 || first?.length !== 1 || (first[0]?.data.length ?? 0) < arrivingBytesMin) return requests;
  return requests.sort((a, b) => (a.valid.inputs[0]?.data.byteOffset ?? 0) - (b.valid.inputs[0]?.data.byteOffset ?? 0));
}

function totalRows(requests: readonly BatchPart[]): number {
  let rows = 0;
  for (const request of requests) rows += request.rows;
  return rows;
}

/** The outputs that at least one request of the batch asked for. */
function outputsOf(requests: readonly BatchPart[]): readonly number[] {
  const first = requests[0] as BatchPart;
  if (requests.every((request) => request.outputs === first.outputs)) return first.outputs;
  const wanted = new Set<number>();
  for (const request of requests) for (const output of request.outputs) wanted.add(output);
  return [...wanted].sort((a, b) => a - b);
}

/** The splitter that gives each request of a batch its part of the answer. */
export function splitterOf(
  model: ServedModel,
  answer: Pick<AnsweredMessage, 'outputs'>,
  rows: number,
  requests: readonly BatchPart[],
): Pick<AnswerSplitter, 'rows'> {
  const isScattered = model.shaping?.outputs.some(({ kind }) => kind === 'scattered') === true;
  // A batch of one request: the whole answer is the request's, in any shape.
  const isWhole = requests.length === 1 && !isScattered;
  return model.shaping === undefined || isWhole
    ? new AnswerSplitter(model, answer, rows, isWhole)
    : new ShapedAnswer(model, model.shaping, answer, requests);
}

/** All of an answer to one request, one of several: so without what a splitter needs to cut it. */
export function wholeAnswer(
  { view }: ServedModel,
  answer: Pick<AnsweredMessage, 'outputs'>,
  wanted: readonly number[],
): readonly Tensor[] {
  const tensors: Tensor[] = [];
  for (let position = 0; position < wanted.length; position++) {
    const index = wanted[position] as number;
    const { name, datatype } = view.outputs[index] as TensorSpec;
    const beside = answer.outputs[position];
    const output = beside?.index === index ? beside : answer.outputs.find((one) => one.index === index);
    if (output === undefined) throw lacksOutput(name);
    tensors.push({ name, datatype, shape: output.shape, data: output.data });
  }
  return tensors;
}

function lacksOutput(name: string): Error {
  return new Error(`the worker's answer lacks the requested output '${name}'`);
}

/** Cuts the answer of a batch into the outputs of its requests, in row order. */
export class AnswerSplitter {
  readonly #model: ServedModel;
  /** By their position among the model's outputs. */
  readonly #outputs: (OutputRows | undefined)[] = [];
  readonly #isWhole: boolean;

  /** Throws `inference-failed` when the answer cannot be cut: the model is not the batched model its config claims. */
  constructor(model: ServedModel, answer: Pick<AnsweredMessage, 'outputs'>, rows: number, isWhole: boolean) {
    this.#model = model;
    this.#isWhole = isWhole || !model.view.isBatched;
    for (const output of answer.outputs) {
      this.#outputs[output.index] = outputRowsFrom(model, output, rows, this.#isWhole);
    }
  }

  /** Views of the rows [begin, end) of the wanted outputs. */
  rows(wanted: readonly number[], begin: number, end: number): readonly Tensor[] {
    const first = wanted[0];
    // By far the most common model; an array literal takes no more memory than it needs.
    if (first !== undefined && wanted.length === 1) return [this.#tensor(first, begin, end)];
    return wanted.map((index) => this.#tensor(index, begin, end));
  }

  #tensor(index: number, begin: number, end: number): Tensor {
    const { outputs } = this.#model.view;
    const { name, datatype } = outputs[index] as TensorSpec;
    const output = this.#outputs[index];
    if (output === undefined) throw lacksOutput(name);
    if (this.#isWhole) return { name, datatype, shape: output.shape, data: output.data };
    const data = output.data.subarray(offsetOf(output, begin), offsetOf(output, end));
    return { name, datatype, shape: shapeOf(output, end - begin), data };
  }
}

interface OutputRows {
  /** Of the whole batch. */
  readonly shape: readonly number[];
  /** Cache of the shape of the last request: most requests of a batch have the same number of rows. */
  requestShape: readonly number[];
  readonly data: Uint8Array;
  readonly rowBytes: number;
  /** The offset of each row, where rows differ in length. */
  readonly offsets: Float64Array | undefined;
}

function offsetOf({ rowBytes, offsets }: OutputRows, row: number): number {
  return offsets === undefined ? row * rowBytes : (offsets[row] as number);
}

function shapeOf(output: OutputRows, rows: number): readonly number[] {
  if (output.requestShape[0] !== rows) output.requestShape = [rows, ...output.shape.slice(1)];
  return output.requestShape;
}

function outputRowsFrom(model: ServedModel, output: BatchTensor, rows: number, isWhole: boolean): OutputRows {
  const spec = model.view.outputs[output.index] as TensorSpec;
  const { shape, data } = output;
  if (isWhole) return outputRows(shape, data, data.length, undefined);
  if (output.shape[0] !== rows) {
    throw new InferenceError(
      'inference-failed',
      `output '${spec.name}' of model '${model.view.name}' has shape [${output.shape.join(',')}] for a batch of ` +
        `${rows} rows of several requests; for a model whose rows depend on each other set millrace.batch: never in its config.pbtxt`,
    );
  }
  if (spec.datatype !== 'BYTES') return outputRows(shape, data, data.length / rows, undefined);
  const offsets = takeBytesRowOffsets(data, rows, elementCount(output.shape) / rows);
  if (offsets === undefined) throw new InferenceError('internal', `output '${spec.name}' is not a BYTES tensor`);
  return outputRows(shape, data, 0, offsets);
}

function outputRows(
  shape: readonly number[],
  data: Uint8Array,
  rowBytes: number,
  offsets: Float64Array | undefined,
): OutputRows {
  return { shape, requestShape: shape, data, rowBytes, offsets };
}
