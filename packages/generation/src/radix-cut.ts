/**
 * Finds where a descending order would be cut, without sorting: by the bits of a number from the highest to the lowest, ten or eleven
 * at a time, so that three passes are enough for whatever values there are. A sort of 150,000 numbers takes ten times as long.
 */

/** The bits of a float32 as an integer that is ordered as the float is. The two zeros are equal. */
function keyOf(bits: number): number {
  if (bits === 0x8000_0000) return bits;
  return (bits & 0x8000_0000) === 0 ? (bits | 0x8000_0000) >>> 0 : ~bits >>> 0;
}

function bitsOf(key: number): number {
  return (key & 0x8000_0000) === 0 ? ~key >>> 0 : key & 0x7fff_ffff;
}

/** From the highest bits on: shift and number of bins. */
const passes = [
  [21, 2048],
  [10, 2048],
  [0, 1024],
] as const;

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/**
 * The value that `count` of the values reach or exceed (more where several equal it). What is not a number counts as the least one.
 *
 * @param bits the same memory as `values`
 */
export function thresholdByCount(values: Float32Array, bits: Uint32Array, count: number, bins: Float64Array): number {
  let wanted = count;
  let prefix = 0;
  let prefixShift = 32;
  for (const [shift, size] of passes) {
    bins.fill(0, 0, size);
    for (let index = 0; index < values.length; index++) {
      const value = values[index] as number;
      const key = Number.isNaN(value) ? 0 : keyOf(bits[index] as number);
      if (prefixShift < 32 && key >>> prefixShift !== prefix) continue;
      const bin = (key >>> shift) & (size - 1);
      bins[bin] = (bins[bin] as number) + 1;
    }
    let bin = size - 1;
    for (; bin > 0 && (bins[bin] as number) < wanted; bin--) wanted -= bins[bin] as number;
    prefix = prefixShift === 32 ? bin : prefix * size + bin;
    prefixShift = shift;
  }
  singleBits[0] = bitsOf(prefix);
  const threshold = single[0] as number;
  return Number.isNaN(threshold) ? Number.NEGATIVE_INFINITY : threshold;
}

/**
 * Keeps the candidates with the greatest values that together have at least the share `mass` of the weight, of equal ones those with
 * the lowest ids, and at least one. Returns how many; they stay in their order.
 *
 * @param bits of the values of all tokens, by id
 */
export function cutByMass(
  candidates: Uint32Array,
  weights: Float64Array,
  length: number,
  mass: number,
  bits: Uint32Array,
  bins: Float64Array,
): number {
  let total = 0;
  for (let index = 0; index < length; index++) total += weights[index] as number;
  const wanted = mass * total;
  let above = 0;
  let prefix = 0;
  let prefixShift = 32;
  for (const [shift, size] of passes) {
    bins.fill(0, 0, size);
    for (let index = 0; index < length; index++) {
      const key = keyOf(bits[candidates[index] as number] as number);
      if (prefixShift < 32 && key >>> prefixShift !== prefix) continue;
      const bin = (key >>> shift) & (size - 1);
      bins[bin] = (bins[bin] as number) + (weights[index] as number);
    }
    let bin = size - 1;
    for (; bin > 0 && above + (bins[bin] as number) < wanted; bin--) above += bins[bin] as number;
    prefix = prefixShift === 32 ? bin : prefix * size + bin;
    prefixShift = shift;
  }
  let kept = 0;
  let missing = wanted - above;
  for (let index = 0; index < length; index++) {
    const id = candidates[index] as number;
    const weight = weights[index] as number;
    const key = keyOf(bits[id] as number);
    if (key < prefix || (key === prefix && missing <= 0)) continue;
    if (key === prefix) missing -= weight;
    candidates[kept] = id;
    weights[kept] = weight;
    kept += 1;
  }
  return kept;
}
