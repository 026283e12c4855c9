/** Makes the inputs of a warm-up sample from its specification. */
import { readFile } from 'node:fs/promises';
import {
  type BatchTensor,
  bytesElementsProblem,
  datatypes,
  elementCount,
  elementsOf,
  encodeBytesElements,
  type LoadSpec,
  type TensorSpec,
  type WarmupInput,
  type WarmupSample,
} from '@millrace/protocol';
import { randomBitsFrom } from '../random-bits.ts';

/** Rejects when a file of the sample does not fit, with the reason. */
export async function sampleTensors(sample: WarmupSample, spec: LoadSpec): Promise<readonly BatchTensor[]> {
  const tensors: BatchTensor[] = [];
  for (const input of sample.inputs) {
    const tensor = spec.inputs[input.index];
    if (tensor === undefined) throw new Error(`the model has no input number ${input.index}`);
    const row = await rowFrom(input, tensor);
    const hasRows = spec.isBatched && tensor.hasDefault !== true;
    const shape = hasRows ? [sample.rows, ...input.shape] : input.shape;
    tensors.push({ index: input.index, shape, data: hasRows ? repeated(row, sample.rows) : row });
  }
  return tensors;
}

function repeated(row: Uint8Array, rows: number): Uint8Array {
  const all = new Uint8Array(row.length * rows);
  for (let index = 0; index < rows; index++) all.set(row, index * row.length);
  return all;
}

async function rowFrom({ index, shape, fill }: WarmupInput, { name, datatype }: TensorSpec): Promise<Uint8Array> {
  const count = elementCount(shape);
  switch (fill.kind) {
    case 'zeros':
      return datatype === 'BYTES'
        ? encodeBytesElements(new Array<string>(count).fill(''))
        : new Uint8Array(count * datatypes[datatype].bytes);
    case 'random':
      return randomRow(datatype, count, index + 1);
    case 'values':
      return rowOf(datatype, fill.values);
    case 'file': {
      const data = new Uint8Array(await readFile(fill.path));
      const expected = datatypes[datatype].bytes;
      const problem =
        expected === undefined
          ? bytesElementsProblem(data, count)
          : data.length === count * expected
            ? undefined
            : `it has ${data.length} bytes, but the input takes ${count * expected}`;
      if (problem !== undefined) throw new Error(`the file of input "${name}", ${fill.path}, does not fit: ${problem}`);
      return data;
    }
  }
}

function rowOf(datatype: TensorSpec['datatype'], values: readonly number[]): Uint8Array {
  if (datatype === 'BYTES') return encodeBytesElements(values.map(String));
  const data = new Uint8Array(values.length * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data });
  for (const [index, value] of values.entries()) {
    if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) elements[index] = BigInt(value);
    else elements[index] = value;
  }
  return data;
}

/** Values that any model takes: numbers in [0, 1), integers 0 or 1, texts of a few letters. */
function randomRow(datatype: TensorSpec['datatype'], count: number, seed: number): Uint8Array {
  const random = randomFrom(seed);
  if (datatype === 'BYTES') {
    return encodeBytesElements(Array.from({ length: count }, () => Math.floor(random() * 36 ** 6).toString(36)));
  }
  const data = new Uint8Array(count * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data });
  for (let index = 0; index < count; index++) {
    if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) {
      elements[index] = random() < 0.5 ? 0n : 1n;
    } else if (datatype === 'FP32' || datatype === 'FP64') elements[index] = random();
    else if (datatype === 'FP16') elements[index] = random() < 0.5 ? 0 : fp16One;
    else if (datatype === 'BF16') elements[index] = random() < 0.5 ? 0 : bf16One;
    else elements[index] = random() < 0.5 ? 0 : 1;
  }
  return data;
}

const fp16One = 0x3c00;
const bf16One = 0x3f80;

/** Seeded, so that a load that fails in its warm-up fails again. */
function randomFrom(seed: number): () => number {
  const bits = randomBitsFrom(seed);
  return () => (bits() >>> 0) / 2 ** 32;
}
