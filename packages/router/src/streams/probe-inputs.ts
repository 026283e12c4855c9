/** Inputs for the probe of a model: equal in every probe, and within what models of all kinds take. */
import {
  datatypes,
  elementCount,
  elementsOf,
  encodeBytesElements,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import type { ModelView, ReadonlyJsonObject, ReadonlyJsonValue } from '../model/model-view.ts';

/** One row of each of these inputs, with values of their own for each stream and step. */
export function probeInputs(
  view: ModelView,
  inputs: readonly TensorSpec[],
  stream: number,
  step: number,
): readonly Tensor[] {
  return inputs.map((input, index) => {
    const { name, datatype } = input;
    const shape = rowShapeOf(view, input);
    return { name, datatype, shape, data: valuesOf(datatype, elementCount(shape), [stream, step, index]) };
  });
}

/** Free sizes are those of the model's first warm-up sample, or 1. */
function rowShapeOf(view: ModelView, { name, shape }: TensorSpec): readonly number[] {
  const sizes = warmUpSizesOf(view.config, name);
  const first = view.isBatched ? 1 : 0;
  return shape.map((size, axis) => {
    if (axis < first) return 1;
    return size >= 0 ? size : (sizes[axis - first] ?? 1);
  });
}

/** As the configuration writes them: `model_warmup [ { inputs { key: NAME value { dims: [ … ] } } } ]`. */
function warmUpSizesOf({ model_warmup: samples }: ReadonlyJsonObject, input: string): readonly number[] {
  const [sample] = isList(samples) ? samples : [];
  const dims = memberOf(memberOf(memberOf(sample, 'inputs'), input), 'dims');
  return isList(dims) ? dims.map(Number) : [];
}

function memberOf(value: ReadonlyJsonValue | undefined, name: string): ReadonlyJsonValue | undefined {
  if (typeof value !== 'object' || value === null || isList(value)) return undefined;
  return (value as ReadonlyJsonObject)[name];
}

function isList(value: ReadonlyJsonValue | undefined): value is readonly ReadonlyJsonValue[] {
  return Array.isArray(value);
}

const fp16One = 0x3c00;
const bf16One = 0x3f80;

/** Numbers in [0, 1), integers 0 or 1, texts of a few letters: as in warm-up samples with random data. */
function valuesOf(datatype: TensorSpec['datatype'], count: number, place: readonly number[]): Uint8Array {
  const random = randomFrom(place);
  if (datatype === 'BYTES') {
    return encodeBytesElements(Array.from({ length: count }, () => Math.floor(random() * 36 ** 6).toString(36)));
  }
  const data = new Uint8Array(count * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data });
  const one = datatype === 'FP16' ? fp16One : datatype === 'BF16' ? bf16One : 1;
  for (let index = 0; index < count; index++) {
    const value = random();
    if (elements instanceof BigInt64Array || elements instanceof BigUint64Array)
      elements[index] = value < 0.5 ? 0n : 1n;
    else if (datatype === 'FP32' || datatype === 'FP64') elements[index] = value;
    else elements[index] = value < 0.5 ? 0 : one;
  }
  return data;
}

/** Seeded by the place of the values, so that a probe that finds something finds it again. */
function randomFrom(place: readonly number[]): () => number {
  let state = place.reduce((seed, part) => Math.imul(seed, 31) + part + 1, 17) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
