/** Random tensors from a seed: the same seed gives the same bytes on every machine. */
import {
  type Datatype,
  elementCount,
  JsonReader,
  readTensorData,
  shapeProblem,
  stringifyJson,
  type Tensor,
  type TensorSpec,
} from '@millrace/protocol';
import { randomFrom } from '../../seeded-random.ts';
import { CommandFailure } from '../command-failure.ts';

/** 64 Mi elements: more is a typing mistake in a shape. */
const randomElementsMax = 64 * 1024 * 1024;

export function randomTensor(spec: TensorSpec, shape: readonly number[], seed: number): Tensor {
  const problem = shapeProblem(shape);
  if (problem !== undefined) throw new CommandFailure(`input ${spec.name}: ${problem}`);
  const count = elementCount(shape);
  if (count > randomElementsMax) {
    throw new CommandFailure(
      `input ${spec.name} would have ${count} elements, more than ${randomElementsMax}; give a smaller --shape`,
    );
  }
  const next = randomFrom(seed);
  const values = Array.from({ length: count }, () => valueFrom(spec.datatype, next()));
  const header = { name: spec.name, datatype: spec.datatype, shape };
  const reader = new JsonReader(new TextEncoder().encode(stringifyJson(values)));
  return { ...header, data: readTensorData(reader, header, { acceptsHalfPrecision: true }) };
}

/** Numbers around zero, small whole numbers that are also valid token ids, short texts. */
function valueFrom(datatype: Datatype, random: number): number | boolean | string {
  switch (datatype) {
    case 'BOOL':
      return random < 0.5;
    case 'BYTES':
      return `word-${Math.floor(random * 1000)}`;
    case 'FP16':
    case 'BF16':
    case 'FP32':
    case 'FP64':
      return Math.round((random * 2 - 1) * 1e4) / 1e4;
    default:
      return Math.floor(random * 10);
  }
}
