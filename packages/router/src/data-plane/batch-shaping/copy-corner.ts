/** Copies the corner that two blocks of elements have in common: into a larger one to pad, into a smaller one to cut. */
export interface Block {
  readonly bytes: Uint8Array;
  readonly shape: readonly number[];
}

/** Both blocks have the same number of axes; what is copied is, on each axis, as long as the shorter of the two. */
export function copyCorner(source: Block, target: Block, elementBytes: number): void {
  const axes = source.shape.length;
  const extent = source.shape.map((size, axis) => Math.min(size, target.shape[axis] as number));
  if (extent.includes(0)) return;
  // Axes at the end on which nothing is left out lie side by side in both, and so does the one before them.
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
  for (;;) {
    let from = 0;
    let to = 0;
    for (let axis = 0; axis < at.length; axis++) {
      from += (at[axis] as number) * (sourceSteps[axis] as number);
      to += (at[axis] as number) * (targetSteps[axis] as number);
    }
    target.bytes.set(source.bytes.subarray(from, from + runBytes), to);
    let axis = at.length - 1;
    while (axis >= 0 && (at[axis] as number) + 1 === extent[axis]) {
      at[axis] = 0;
      axis -= 1;
    }
    if (axis < 0) return;
    at[axis] = (at[axis] as number) + 1;
  }
}

/** Bytes from one index of an axis to the next. */
function stepsOf(shape: readonly number[], elementBytes: number): readonly number[] {
  const steps = new Array<number>(shape.length);
  let step = elementBytes;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    steps[axis] = step;
    step *= shape[axis] as number;
  }
  return steps;
}

/** Writes one element over and over. */
export function fillWith(target: Uint8Array, element: Uint8Array): void {
  if (element.every((byte) => byte === element[0])) {
    target.fill(element[0] ?? 0);
    return;
  }
  target.set(element.subarray(0, Math.min(element.length, target.length)));
  for (let filled = element.length; filled < target.length; filled *= 2) {
    target.copyWithin(filled, 0, Math.min(filled, target.length - filled));
  }
}
