/** Slices rows of tensors as views, and joins the rows of several answers. */
import { BytesCursor, elementCount, InferenceError, type Tensor } from '@millrace/protocol';
import { sliceElementsMax } from '../bytes-check.ts';

import type { Copy } from '../sliced-work/copy-slices.ts';

/** Rows [begin, end) of one input. */
export type RowSlicer = (begin: number, end: number) => Tensor;

/** Makes the slicer of a tensor with `rows` rows, which copies nothing; in slices, because each text has to be read. */
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

/** The offset of each row. The data is known to have this many texts. */
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

/** One output of a request that was run in parts. Parts are copied as they come, so that their memory can be released. */
export class JoinedOutput {
  readonly #spec: Pick<Tensor, 'name' | 'datatype' | 'shape'>;
  readonly #rows: number;
  readonly #model: string;
  /** All rows, where they have equal sizes. */
  readonly #whole: Uint8Array | undefined;
  /** By the first row of each part, where rows differ in size. */
  readonly #texts = new Map<number, Uint8Array>();
  #joined: Uint8Array | undefined;

  /** `first`: this output in the part that came first, with `firstRows` rows; `rows`: those of all parts together. */
  constructor(first: Tensor, firstRows: number, rows: number, model: string) {
    this.#spec = { name: first.name, datatype: first.datatype, shape: first.shape };
    this.#rows = rows;
    this.#model = model;
    this.#whole = first.datatype === 'BYTES' ? undefined : new Uint8Array((first.data.length / firstRows) * rows);
  }

  /**
   * The copy to be made of the part before its memory is released.
   * Throws `inference-failed` when the part does not have `rows` rows, or its rows have another shape than those of the others.
   */
  add({ shape, data }: Tensor, firstRow: number, rows: number): Copy {
    const { name, shape: firstShape } = this.#spec;
    const isAlike =
      shape.length === firstShape.length && shape.every((size, axis) => axis === 0 || size === firstShape[axis]);
    if (shape[0] !== rows || !isAlike) {
      throw new InferenceError(
        'inference-failed',
        `output '${name}' of model '${this.#model}' has shape [${shape.join(',')}] for ${rows} rows of a request that ` +
          'was split; for a model whose rows depend on each other set millrace.batch: never in its config.pbtxt',
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

  /** The copies to be made when all parts are in; `tensor` may be called after them. */
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
