/** Copies in slices, for `SlicedWork`. */
import type { Tensor } from '@millrace/protocol';
import { copySliceBytesMax, type Slices } from './sliced-work.ts';

export interface Copy {
  readonly source: Uint8Array;
  readonly target: Uint8Array;
}

/** Small copies share a slice, so that many of them do not take many turns. */
export function* copySlices(copies: Iterable<Copy>): Generator<void, void> {
  let sliceBytesLeft = copySliceBytesMax;
  for (const { source, target } of copies) {
    let at = 0;
    while (at < source.length) {
      const end = Math.min(source.length, at + sliceBytesLeft);
      target.set(at === 0 && end === source.length ? source : source.subarray(at, end), at);
      sliceBytesLeft -= end - at;
      at = end;
      if (sliceBytesLeft > 0) continue;
      sliceBytesLeft = copySliceBytesMax;
      yield;
    }
  }
}

/** Does all slices in one go, for work that is small or may block. */
export function finish(slices: Slices): void {
  while (slices.next().done !== true);
}

/** Copies of tensors in memory of their own; filled by doing the slices. */
export function copiesOf(tensors: readonly Tensor[]): { readonly tensors: readonly Tensor[]; readonly slices: Slices } {
  const memory = new Uint8Array(bytesOfTensors(tensors));
  let offset = 0;
  const copies: Copy[] = [];
  const copied = tensors.map((tensor) => {
    const target = memory.subarray(offset, offset + tensor.data.byteLength);
    copies.push({ source: tensor.data, target });
    offset += tensor.data.byteLength;
    return { ...tensor, data: target };
  });
  return { tensors: copied, slices: copySlices(copies) };
}

export function bytesOfTensors(tensors: readonly (Tensor | undefined)[]): number {
  let bytes = 0;
  for (const tensor of tensors) bytes += tensor?.data.byteLength ?? 0;
  return bytes;
}
