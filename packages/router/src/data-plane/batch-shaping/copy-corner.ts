import { copySliceBytesMax } from '../sliced-work/sliced-work.ts';

/** A tensor's elements with their shape: copied into a larger block to pad, or into a smaller one to cut. */
export interface Block {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

/** The cost of starting a run, in bytes that could be copied in the same time. */
const runCostBytes = 512;

/** Copies the corner that two blocks have in common: on each axis as long as the shorter of the two. Both have the same number of axes. */
export function* copyCornerSlices(source: Block, target: Block, elementBytes: number): Generator<void, void> {
  const axes = source.shape.length;
  const extent = source.shape.map((size, axis) => Math.min(size, target.shape[axis] as number));
  if (extent.includes(0)) return;
  // The last axes that are copied whole are contiguous in both blocks, and so is the one before them.
  let runAxis = axes - 1;
  let runBytes = elementBytes;
  while (runAxis > 0 && source.shape[runAxis] === target.shape[runAxis]) {
    runBytes *= extent[runAxis] as number;
    runAxis -= 1;
  }
  runBytes *= extent[runAxis] ?? 1;
  const sourceSteps = stepsOf(source.shape, elementBytes);
  const targetSteps = stepsOf(target.shape, elementBytes);
  const at = new Array<number>(Math.max(0, runAxis)).fill(0);
  let sliceBytesLeft = copySliceBytesMax;
  for (;;) {
    let from = 0;
    let to = 0;
    for (let axis = 0; axis < at.length; axis++) {
      from += (at[axis] as number) * (sourceSteps[axis] as number);
      to += (at[axis] as number) * (targetSteps[axis] as number);
    }
    for (let done = 0; done < runBytes; ) {
      const bytes = Math.min(runBytes - done, sliceBytesLeft);
      target.bytes.set(source.bytes.subarray(from + done, from + done + bytes), to + done);
      done += bytes;
      sliceBytesLeft -= bytes;
      if (sliceBytesLeft > 0) continue;
      sliceBytesLeft = copySliceBytesMax;
      yield;
    }
    // A short run costs as much as copying many bytes.
    sliceBytesLeft = Math.max(1, sliceBytesLeft - runCostBytes);
    let axis = at.length - 1;
    while (axis >= 0 && (at[axis] as number) + 1 === extent[axis]) {
      at[axis] = 0;
      axis -= 1;
    }
    if (axis < 0) return;
    at[axis] = (at[axis] as number) + 1;
  }
}

/** Strides: bytes from one index of an axis to the next. */
function stepsOf(shape: readonly number[], elementBytes: number): readonly number[] {
  const steps = new Array<number>(shape.length);
  let step = elementBytes;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    steps[axis] = step;
    step *= shape[axis] as number;
  }
  return steps;
}

/** Fills the target with one element. */
export function* fillSlices(target: Uint8Array, element: Uint8Array): Generator<void, void> {
  const isUniform = element.every((byte) => byte === element[0]);
  // A whole number of elements, because the next slice begins where this one ends.
  const sliceBytes = Math.max(1, Math.floor(copySliceBytesMax / element.length)) * element.length;
  for (let from = 0; from < target.length; from += sliceBytes) {
    const part = target.subarray(from, from + sliceBytes);
    if (isUniform) part.fill(element[0] ?? 0);
    else repeat(part, element);
    if (from + sliceBytes < target.length) yield;
  }
}

function repeat(target: Uint8Array, element: Uint8Array): void {
  target.set(element.subarray(0, Math.min(element.length, target.length)));
  for (let filled = element.length; filled < target.length; filled *= 2) {
    target.copyWithin(filled, 0, Math.min(filled, target.length - filled));
  }
}
