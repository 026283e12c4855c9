/** Tensors from values and back, exactly: as bytes two of them can be compared whatever carried them. */
import { type Datatype, encodeBytesElements, type Tensor, takeBytesElements } from '@millrace/protocol';
import type { Element } from '../../support/golden.ts';
import { bytesOfValues, valuesOfBytes } from '../../support/inference-call.ts';

export type TensorValue = Element | Uint8Array;

export function exactTensor(
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  values: readonly TensorValue[] | Float32Array,
): Tensor {
  const list = [...values];
  const bytes =
    datatype === 'BYTES'
      ? encodeBytesElements(list as (string | Uint8Array)[])
      : bytesOfValues(datatype, list as Element[]);
  return { name, datatype, shape: [...shape], data: Uint8Array.from(bytes) };
}

/** BYTES as they are, everything else as numbers, bigints and booleans. */
export function valuesIn({ datatype, data }: Tensor): readonly TensorValue[] {
  return datatype === 'BYTES' ? (takeBytesElements(data) ?? []) : valuesOfBytes(datatype, Uint8Array.from(data));
}
