/** Generates the inputs that describe the shapes of a batch's requests to the model, under Triton's names. */
import { elementCount, elementsOf, type Tensor } from '@millrace/protocol';
import type { GeneratedInput } from '../../model/batch-shaping.ts';
import type { BatchPart } from '../batch-layout.ts';

export interface GeneratedTensor {
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

const elementBytes = { INT32: 4, INT64: 8, FP32: 4 } as const;

export function generatedTensor(
  { kind, datatype, source }: GeneratedInput,
  requests: readonly BatchPart[],
): GeneratedTensor {
  const shapes = requests.map(({ inputs }) => (inputs[source] as Tensor).shape);
  switch (kind) {
    case 'BATCH_ELEMENT_COUNT':
      return listOf(datatype, shapes.map(elementCount));
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT':
      return listOf(datatype, accumulated(shapes).slice(1));
    case 'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO':
      return listOf(datatype, accumulated(shapes));
    case 'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE':
      // Only its length carries information; the content is ignored.
      return zerosOf(datatype, Math.max(...shapes.map(elementCount)));
    case 'BATCH_ITEM_SHAPE':
    case 'BATCH_ITEM_SHAPE_FLATTEN': {
      const values = shapes.flatMap(([rows = 0, ...row]) => Array.from({ length: rows }, () => row).flat());
      const list = listOf(datatype, values);
      const axes = (shapes[0]?.length ?? 1) - 1;
      return kind === 'BATCH_ITEM_SHAPE' ? { ...list, shape: [values.length / axes, axes] } : list;
    }
  }
}

/** The running total: 0, and then the value after each request. */
function accumulated(shapes: readonly (readonly number[])[]): readonly number[] {
  const counts = [0];
  for (const shape of shapes) counts.push((counts.at(-1) as number) + elementCount(shape));
  return counts;
}

function zerosOf(datatype: GeneratedInput['datatype'], count: number): GeneratedTensor {
  return { shape: [count], data: new Uint8Array(count * elementBytes[datatype]) };
}

function listOf(datatype: GeneratedInput['datatype'], values: readonly number[]): GeneratedTensor {
  const data = new Uint8Array(values.length * elementBytes[datatype]);
  const elements = elementsOf({ datatype, data });
  for (const [index, value] of values.entries()) {
    if (elements instanceof BigInt64Array) elements[index] = BigInt(value);
    else elements[index] = value;
  }
  return { shape: [values.length], data };
}
