/** Lays out a batch of requests of unequal shapes, and splits its answer: the slower counterpart of batch-layout.ts. */
import {
  type AnsweredMessage,
  alignedToCacheLine,
  type BatchTensor,
  datatypes,
  elementCount,
  frameBytesMaxDefault,
  InferenceError,
  type Region,
  type Tensor,
  type TensorSpec,
  takeBytesRowOffsets,
} from '@millrace/protocol';
import type { BatchShaping, Cut, InputShaping } from '../../model/batch-shaping.ts';
import type { BatchPart, LaidOutBatch } from '../batch-layout.ts';
import type { ServedModel } from '../served-model.ts';
import { copySlices, finish } from '../sliced-work/copy-slices.ts';
import { copySliceBytesMax } from '../sliced-work/sliced-work.ts';
import { copyCornerSlices, fillSlices } from './copy-corner.ts';
import { generatedTensor } from './generated-inputs.ts';

/** Most bytes that requests are padded to in one batch: those that need more run alone. As much as a message to a worker may have. */
const paddedBytesMax: number = frameBytesMaxDefault;

interface Planned {
  readonly index: number;
  readonly shape: readonly number[];
  readonly bytes: number;
  write(target: Uint8Array): Generator<void, void>;
}

/**
 * Writes the inputs into memory that the worker reads, and padding where rows are shorter than the longest. Throws `unsupported` for
 * requests that would be padded to more than `paddedBytesMax`.
 */
export function layOutShapedInputs(
  requests: readonly BatchPart[],
  shaping: BatchShaping,
  lend: (bytes: number) => Region,
): Pick<LaidOutBatch, 'region' | 'inputs' | 'slices'> {
  const first = requests[0] as BatchPart;
  const planned: Planned[] = [];
  for (const [index, tensor] of first.inputs.entries()) {
    if (tensor === undefined) continue;
    const tensors = requests.map(({ inputs }) => inputs[index] as Tensor);
    planned.push(planInput(index, tensors, shaping.inputs[index] as InputShaping));
  }
  for (const [position, generated] of shaping.generated.entries()) {
    planned.push({ index: first.inputs.length + position, ...generatedTensor(generated, requests) });
  }
  const regionBytes = planned.reduce((sum, { bytes }) => sum + alignedToCacheLine(bytes), 0);
  if (requests.length > 1 && regionBytes > paddedBytesMax) throw tooMuchPadding(regionBytes);
  const region = lend(regionBytes);
  const writes: Generator<void, void>[] = [];
  let offset = 0;
  const inputs = planned.map(({ index, shape, bytes, write }) => {
    const data = region.bytes.subarray(offset, offset + bytes);
    writes.push(write(data));
    offset += alignedToCacheLine(bytes);
    return { index, shape, data };
  });
  const slices = oneAfterOther(writes);
  if (regionBytes > copySliceBytesMax) return { region, inputs, slices };
  finish(slices);
  return { region, inputs, slices: undefined };
}

function tooMuchPadding(bytes: number): InferenceError {
  return new InferenceError('unsupported', `padded to each other, the inputs of a batch would have ${bytes} bytes`);
}

function* oneAfterOther(works: readonly Generator<void, void>[]): Generator<void, void> {
  for (const work of works) yield* work;
}

function planInput(index: number, tensors: readonly Tensor[], shaping: InputShaping): Planned {
  const rows = tensors.reduce((sum, { shape }) => sum + (shape[0] as number), 0);
  const first = tensors[0] as Tensor;
  if (shaping.kind === 'padded' && tensors.some(({ shape }) => !hasEqualRows(shape, first.shape))) {
    return planPadded(index, tensors, rows, shaping.fill);
  }
  const bytes = tensors.reduce((sum, { data }) => sum + data.byteLength, 0);
  const elements = (): number => tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0);
  return {
    index,
    shape: shaping.kind === 'ragged' ? [elements()] : [rows, ...first.shape.slice(1)],
    bytes,
    write(target) {
      let end = 0;
      return copySlices(
        tensors.map(({ data }) => {
          end += data.byteLength;
          return { source: data, target: target.subarray(end - data.byteLength, end) };
        }),
      );
    },
  };
}

function planPadded(index: number, tensors: readonly Tensor[], rows: number, fill: Uint8Array): Planned {
  const first = tensors[0] as Tensor;
  const row = first.shape.slice(1).map((_, axis) => Math.max(...tensors.map(({ shape }) => shape[axis + 1] as number)));
  const rowBytes = elementCount(row) * fill.length;
  return {
    index,
    shape: [rows, ...row],
    bytes: rows * rowBytes,
    *write(target) {
      yield* fillSlices(target, fill);
      let begin = 0;
      for (const { shape, data } of tensors) {
        const tensorRows = shape[0] as number;
        const end = begin + tensorRows * rowBytes;
        const block = { bytes: target.subarray(begin, end), shape: [tensorRows, ...row] };
        yield* copyCornerSlices({ bytes: data, shape }, block, fill.length);
        begin = end;
      }
    },
  };
}

function hasEqualRows(shape: readonly number[], other: readonly number[]): boolean {
  for (let axis = 1; axis < shape.length; axis++) if (shape[axis] !== other[axis]) return false;
  return true;
}

/** Gives each request of a shaped batch its part of the answer. */
export class ShapedAnswer {
  readonly #model: ServedModel;
  readonly #shaping: BatchShaping;
  readonly #rows: number;
  /** By the first row of each. */
  readonly #requests = new Map<number, BatchPart>();
  readonly #outputs: (BatchTensor | undefined)[] = [];
  /** For each scattered output: the offset of each request's elements, by the request's first row. */
  readonly #offsets = new Map<number, ReadonlyMap<number, number>>();

  /** Throws `inference-failed` when the answer does not have the shapes that the configuration declares. */
  constructor(
    model: ServedModel,
    shaping: BatchShaping,
    answer: Pick<AnsweredMessage, 'outputs'>,
    requests: readonly BatchPart[],
  ) {
    this.#model = model;
    this.#shaping = shaping;
    let rows = 0;
    for (const request of requests) {
      this.#requests.set(rows, request);
      rows += request.rows;
    }
    this.#rows = rows;
    for (const output of answer.outputs) {
      this.#outputs[output.index] = output;
      this.#check(output);
    }
  }

  rows(wanted: readonly number[], begin: number, end: number): readonly Tensor[] {
    return wanted.map((index) => {
      const { name, datatype } = this.#model.view.outputs[index] as TensorSpec;
      const output = this.#outputs[index];
      if (output === undefined) throw new Error(`the worker's answer lacks the requested output '${name}'`);
      const shaping = this.#shaping.outputs[index];
      if (shaping?.kind === 'scattered') return { name, datatype, ...this.#scattered(output, shaping.input, begin) };
      const whole = this.#rowsOf(output, datatype, begin, end);
      if (shaping?.kind !== 'cut') return { name, datatype, ...whole };
      return { name, datatype, ...this.#cut(whole, shaping.cuts, begin, datatypes[datatype].bytes ?? 0) };
    });
  }

  #rowsOf({ shape, data }: BatchTensor, datatype: Tensor['datatype'], begin: number, end: number): Part {
    const own = [end - begin, ...shape.slice(1)];
    if (datatype !== 'BYTES') {
      const rowBytes = data.byteLength / this.#rows;
      return { shape: own, data: data.subarray(begin * rowBytes, end * rowBytes) };
    }
    const offsets = takeBytesRowOffsets(data, this.#rows, elementCount(shape) / this.#rows);
    if (offsets === undefined) throw new InferenceError('internal', 'an output is not a BYTES tensor');
    return { shape: own, data: data.subarray(offsets[begin], offsets[end]) };
  }

  #cut(part: Part, cuts: readonly Cut[], begin: number, elementBytes: number): Part {
    const request = this.#requests.get(begin) as BatchPart;
    const shape = [...part.shape];
    for (const { axis, input, inputAxis } of cuts) {
      const size = request.inputs[input]?.shape[inputAxis];
      if (size !== undefined) shape[axis] = Math.min(shape[axis] as number, size);
    }
    if (shape.every((size, axis) => size === part.shape[axis])) return part;
    const data = new Uint8Array(elementCount(shape) * elementBytes);
    finish(copyCornerSlices({ bytes: part.data, shape: part.shape }, { bytes: data, shape }, elementBytes));
    return { shape, data };
  }

  #scattered({ index, data }: BatchTensor, input: number, begin: number): Part {
    const request = this.#requests.get(begin) as BatchPart;
    const shape = this.#scatteredShape(index, input, request);
    const spec = this.#model.view.outputs[index] as TensorSpec;
    const elementBytes = datatypes[spec.datatype].bytes ?? 0;
    const from = (this.#offsets.get(index)?.get(begin) as number) * elementBytes;
    return { shape, data: data.subarray(from, from + elementCount(shape) * elementBytes) };
  }

  /** Each free size of the output equals the input's size on the same axis. */
  #scatteredShape(output: number, input: number, request: BatchPart): readonly number[] {
    const spec = this.#model.view.outputs[output] as TensorSpec;
    const source = (request.inputs[input] as Tensor).shape;
    return spec.shape.map((size, axis) => (size < 0 ? (source[axis] as number) : size));
  }

  #check({ index, shape }: BatchTensor): void {
    const { name } = this.#model.view.outputs[index] as TensorSpec;
    const shaping = this.#shaping.outputs[index];
    if (shaping?.kind !== 'scattered') {
      if (shape[0] === this.#rows) return;
      throw this.#failure(name, shape, `${this.#rows} rows`);
    }
    const offsets = new Map<number, number>();
    let elements = 0;
    for (const [begin, request] of this.#requests) {
      offsets.set(begin, elements);
      elements += elementCount(this.#scatteredShape(index, shaping.input, request));
    }
    this.#offsets.set(index, offsets);
    if (elementCount(shape) !== elements) throw this.#failure(name, shape, `${elements} elements`);
  }

  #failure(name: string, shape: readonly number[], expected: string): InferenceError {
    return new InferenceError(
      'inference-failed',
      `output '${name}' of model '${this.#model.view.name}' has shape [${shape.join(',')}] for a batch of ${expected}; ` +
        'correct batch_output or max_batch_size in its config.pbtxt',
    );
  }
}

interface Part {
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}
