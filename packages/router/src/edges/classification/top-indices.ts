/**
 * The indices of the `count` greatest values, greatest first; equal values in their order, NaN after everything.
 * A heap of the best so far: a million scores for the top five cost one pass.
 */
export function topIndices(values: ArrayLike<number | bigint>, from: number, to: number, count: number): Uint32Array {
  const size = Math.min(count, to - from);
  const heap = new Uint32Array(size);
  for (let index = 0; index < size; index++) {
    heap[index] = from + index;
    siftUp(values, heap, index);
  }
  for (let index = from + size; index < to; index++) {
    if (size === 0 || isWorse(values, index, heap[0] as number)) continue;
    heap[0] = index;
    siftDown(values, heap, 0, size);
  }
  for (let end = size - 1; end > 0; end--) {
    swap(heap, 0, end);
    siftDown(values, heap, 0, end);
  }
  return heap;
}

/** Whether index `a` comes after index `b`. */
function isWorse(values: ArrayLike<number | bigint>, a: number, b: number): boolean {
  const left = values[a] as number | bigint;
  const right = values[b] as number | bigint;
  if (left < right) return true;
  if (left > right) return false;
  const isLeftNan = Number.isNaN(left);
  const isRightNan = Number.isNaN(right);
  return isLeftNan === isRightNan ? a > b : isLeftNan;
}

/** The worst is at the root. */
function siftUp(values: ArrayLike<number | bigint>, heap: Uint32Array, start: number): void {
  let child = start;
  while (child > 0) {
    const parent = (child - 1) >> 1;
    if (!isWorse(values, heap[child] as number, heap[parent] as number)) return;
    swap(heap, child, parent);
    child = parent;
  }
}

function siftDown(values: ArrayLike<number | bigint>, heap: Uint32Array, start: number, end: number): void {
  let parent = start;
  for (;;) {
    let child = parent * 2 + 1;
    if (child >= end) return;
    if (child + 1 < end && isWorse(values, heap[child + 1] as number, heap[child] as number)) child += 1;
    if (!isWorse(values, heap[child] as number, heap[parent] as number)) return;
    swap(heap, child, parent);
    parent = child;
  }
}

function swap(heap: Uint32Array, a: number, b: number): void {
  const held = heap[a] as number;
  heap[a] = heap[b] as number;
  heap[b] = held;
}
