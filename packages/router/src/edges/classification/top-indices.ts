/**
 * The indices of the `count` greatest values, greatest first; equal values in their order, NaN after everything. Linear in
 * the values whatever their order: candidates are gathered up to twice as many as wanted, then the worse half is dropped.
 * In slices: yields after every `sliceSteps` values.
 */
export function* topIndices(
  values: ArrayLike<number | bigint>,
  from: number,
  to: number,
  count: number,
): Generator<void, Uint32Array> {
  const size = Math.min(count, to - from);
  if (size === 0) return new Uint32Array(0);
  const candidates = new Uint32Array(Math.min(to - from, Math.max(2 * size, candidatesMin)));
  let found = 0;
  /** Once there are `size` candidates, only values better than the worst of them are candidates. */
  let worst = -1;
  for (let index = from; index < to; index++) {
    if ((index - from) % sliceSteps === sliceSteps - 1) yield;
    if (worst !== -1 && isWorse(values, index, worst)) continue;
    if (found === candidates.length) {
      yield* selectBest(values, candidates, found, size);
      found = size;
      worst = candidates[size - 1] as number;
      if (isWorse(values, index, worst)) continue;
    }
    candidates[found] = index;
    found += 1;
  }
  if (found > size) yield* selectBest(values, candidates, found, size);
  const best = candidates.slice(0, size);
  yield* sortBest(values, best);
  return best;
}

/** Comparisons between two pauses, each of some nanoseconds. */
const sliceSteps = 32 * 1024;
const candidatesMin = 64;

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

/** Brings the `size` best of `indices[0, end)` to the front, the worst of them last (quickselect). */
function* selectBest(
  values: ArrayLike<number | bigint>,
  indices: Uint32Array,
  end: number,
  size: number,
): Generator<void, void> {
  let low = 0;
  let high = end - 1;
  const wanted = size - 1;
  let random = 0x9e3779b9;
  let steps = 0;
  while (low < high) {
    // A pivot drawn from the whole range cannot be bad again and again, whatever the order of the values.
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    swap(indices, low + (random % (high - low + 1)), high);
    const pivot = indices[high] as number;
    let boundary = low;
    for (let at = low; at < high; at++) {
      steps += 1;
      if (steps % sliceSteps === 0) yield;
      if (isWorse(values, indices[at] as number, pivot)) continue;
      swap(indices, at, boundary);
      boundary += 1;
    }
    swap(indices, boundary, high);
    if (boundary === wanted) return;
    if (boundary < wanted) low = boundary + 1;
    else high = boundary - 1;
  }
}

/** Merge sort: runs of growing length, best first. */
function* sortBest(values: ArrayLike<number | bigint>, indices: Uint32Array): Generator<void, void> {
  const { length } = indices;
  let source: Uint32Array = indices;
  let target: Uint32Array = new Uint32Array(length);
  let steps = 0;
  for (let width = 1; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at++) {
        steps += 1;
        if (steps % sliceSteps === 0) yield;
        const isLeft =
          left < middle && (right === end || isWorse(values, source[right] as number, source[left] as number));
        target[at] = (isLeft ? source[left++] : source[right++]) as number;
      }
    }
    [source, target] = [target, source];
  }
  if (source !== indices) indices.set(source);
}

function swap(indices: Uint32Array, a: number, b: number): void {
  const held = indices[a] as number;
  indices[a] = indices[b] as number;
  indices[b] = held;
}
