/** Rows of tensors cut out as views, and rows of several answers put together again. */
import { BytesCursor, elementCount, InferenceError, type Tensor } from '@millrace/protocol';
import { sliceElementsMax } from '../bytes-check.ts';

import type { Copy } from '../sliced-work/copy-slices.ts';

/** Rows [begin, end) of one input. */
export type RowSlicer = (begin: number, end: number) => Tensor;

/** Finds out how to cut rows out of a tensor with `rows` rows, without copying; in slices, where each text is looked at. */
export function* rowSlicerSlices(tensor: Tensor, rows: number): Generator<void, RowSlicer> {
  const { shape, data, datatype } = tensor;
  const rowShape = shape.slice(1);
  const offsets = datatype === 'BYTES' ? yield* textOffsets(data, rows, elementCount(rowShape)) : undefined;
  const rowBytes = data.length / rows;
  const offsetOf = (row: number): number => (offsets === undefined ? row * rowBytes : (offsets[row] as number));
  return (begin, end) => ({
    ...tensor,
    shape: [end - begin, ...rowShape],
    data: data.subarray(offsetOf(begin), offsetOf(end)),
  });
}

/** Where each row begins. The data is known to be as many texts. */
function* textOffsets(data: Uint8Array, rows: number, rowElements: number): Generator<void, Float64Array> {
  const offsets = new Float64Array(rows + 1);
  const cursor = new BytesCursor(data);
  let elements = 0;
  for (let row = 0; row < rows; row++) {
    for (let element = 0; element < rowElements && cursor.next(); element++) {
      elements += 1;
      if (elements % sliceElementsMax === 0) yield;
    }
    offsets[row + 1] = cursor.offset + cursor.length;
  }
  return offsets;
}

/** One output of a request that was run in parts. Parts are copied as they come, so that their memory can go back. */
export class JoinedOutput {
  readonly #spec: Pick<Tensor, 'name' | 'datatype' | 'shape'>;
  readonly #rows: number;
  readonly #model: string;
  /** Of all rows, where they all have one size. */
  readonly #whole: Uint8Array | undefined;
  /** By the first row of the part, where rows differ in size. */
  readonly #texts = new Map<number, Uint8Array>();
  #joined: Uint8Array | undefined;

  /** `first`: this output in whichever part came first, of `firstRows` rows; `rows`: of all parts together. */
  constructor(first: Tensor, firstRows: number, rows: number, model: string) {
    this.#spec = { name: first.name, datatype: first.datatype, shape: first.shape };
    this.#rows = rows;
    this.#model = model;
    this.#whole = first.datatype === 'BYTES' ? undefined : new Uint8Array((first.data.length / firstRows) * rows);
  }

  /**
   * The copy that is to be made of the part before its memory goes back.
   * Throws `inference-failed` where the part has not one row for each of its own, or rows unlike those of the others.
   */
  add({ shape, data }: Tensor, firstRow: number, rows: number): Copy {
    const { name, shape: firstShape } = this.#spec;
    const isAlike =
      shape.length === firstShape.length && shape.every((size, axis) => axis === 0 || size === firstShape[axis]);
    if (shape[0] !== rows || !isAlike) {
      throw new InferenceError(
        'inference-failed',
        `output '${name}' of model '${this.#model}' has shape [${shape.join(',')}] for ${rows} rows of a request that ` +
          'was split; a model that does not keep rows apart needs millrace.batch: never in its config.pbtxt',
      );
    }
    const target = this.#whole === undefined ? new Uint8Array(data.length) : this.#rowsOfWhole(firstRow, data.length);
    if (this.#whole === undefined) this.#texts.set(firstRow, target);
    return { source: data, target };
  }

  #rowsOfWhole(firstRow: number, bytes: number): Uint8Array {
    const whole = this.#whole as Uint8Array;
    const begin = (whole.length / this.#rows) * firstRow;
    return whole.subarray(begin, begin + bytes);
  }

  /** The copies to be made when all parts are in; after them there is a `tensor`. */
  join(): readonly Copy[] {
    if (this.#whole !== undefined) return [];
    const parts = [...this.#texts].sort(([left], [right]) => left - right).map(([, bytes]) => bytes);
    const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    this.#joined = joined;
    let end = 0;
    return parts.map((source) => {
      end += source.length;
      return { source, target: joined.subarray(end - source.length, end) };
    });
  }

  /** When all parts are in and joined. */
  tensor(): Tensor {
    const { name, datatype, shape } = this.#spec;
    return {
      name,
      datatype,
      shape: [this.#rows, ...shape.slice(1)],
      data: this.#whole ?? (this.#joined as Uint8Array),
    };
  }
}
