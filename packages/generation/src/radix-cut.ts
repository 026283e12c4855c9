/**
 * Finds where a descending order would be cut, without sorting: by the bits of a number from the highest to the lowest, ten or eleven
 * at a time, so that three passes are enough for whatever values there are. A sort of 150,000 numbers takes ten times as long.
 */

/** The bits of a float32 as an integer that is ordered as the float is. The two zeros are equal. Its own inverse, except for them. */
function keyOf(bits: number): number {
  return bits === negativeZero ? 0 : bits ^ ((bits >> 31) & 0x7fff_ffff);
}
const negativeZero = -0x8000_0000;

/** From the highest bits on: shift and number of bins. The highest bit is the sign. */
const passes = [
  [21, 2048],
  [10, 2048],
  [0, 1024],
] as const;
const firstBinOfPositives = 1024;

function binOf(key: number, shift: number, size: number): number {
  return shift === 21 ? (key >> shift) + firstBinOfPositives : (key >> shift) & (size - 1);
}

/** The bits that are decided when the bin is. */
function prefixOf(prefix: number, bin: number, shift: number, size: number): number {
  return shift === 21 ? bin - firstBinOfPositives : Math.imul(prefix, size) | bin;
}

const single = new Float32Array(1);
const singleBits = new Int32Array(single.buffer);

/**
 * The value that `count` of the values reach or exceed (more where several equal it).
 *
 * @param bits of the values, which are all numbers
 */
export function thresholdByCount(bits: Int32Array, count: number, bins: Float64Array): number {
  let wanted = count;
  let prefix = 0;
  let prefixShift = 32;
  for (const [shift, size] of passes) {
    bins.fill(0, 0, size);
    for (let index = 0; index < bits.length; index++) {
      const key = keyOf(bits[index] as number);
      if (prefixShift < 32 && key >> prefixShift !== prefix) continue;
      const bin = binOf(key, shift, size);
      bins[bin] = (bins[bin] as number) + 1;
    }
    let bin = size - 1;
    for (; bin > 0 && (bins[bin] as number) < wanted; bin--) wanted -= bins[bin] as number;
    prefix = prefixOf(prefix, bin, shift, size);
    prefixShift = shift;
  }
  singleBits[0] = keyOf(prefix);
  return single[0] as number;
}

/**
 * Keeps the candidates with the greatest values that together have at least the share `mass` of the weight, of equal ones those with
 * the lowest ids, and at least one. Returns how many; they stay in their order.
 *
 * Precondition: the order of the values is the order of the weights, as where weights are the exponentials of values. The cut goes by
 * values, but candidates of negligible weight are dropped before it, whatever their values are.
 *
 * @param weights of the candidates, in their order
 * @param bits of the values of all tokens, by id
 */
export function cutByMass(
  candidates: Uint32Array,
  weights: Float64Array,
  length: number,
  mass: number,
  bits: Int32Array,
  bins: Float64Array,
): number {
  let total = 0;
  for (let index = 0; index < length; index++) total += weights[index] as number;
  const wanted = mass * total;
  const considered = withoutNegligible(candidates, weights, length, ((1 - mass) * total) / length);
  let above = 0;
  let prefix = 0;
  let prefixShift = 32;
  for (const [shift, size] of passes) {
    bins.fill(0, 0, size);
    for (let index = 0; index < considered; index++) {
      const key = keyOf(bits[candidates[index] as number] as number);
      if (prefixShift < 32 && key >> prefixShift !== prefix) continue;
      const bin = binOf(key, shift, size);
      bins[bin] = (bins[bin] as number) + (weights[index] as number);
    }
    let bin = size - 1;
    for (; bin > 0 && above + (bins[bin] as number) < wanted; bin--) above += bins[bin] as number;
    prefix = prefixOf(prefix, bin, shift, size);
    prefixShift = shift;
  }
  let kept = 0;
  let missing = wanted - above;
  for (let index = 0; index < considered; index++) {
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

/** Drops candidates too light to matter for the cut, usually nearly all: those left reach the share without them. */
function withoutNegligible(candidates: Uint32Array, weights: Float64Array, length: number, negligible: number): number {
  let kept = 0;
  for (let index = 0; index < length; index++) {
    const weight = weights[index] as number;
    if (weight <= negligible) continue;
    candidates[kept] = candidates[index] as number;
    weights[kept] = weight;
    kept += 1;
  }
  return kept;
}
