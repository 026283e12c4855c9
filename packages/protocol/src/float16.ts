/**
 * FP16 (IEEE binary16) and BF16 (the upper half of a float32) to numbers and back. Numbers are rounded to nearest, ties
 * to even, directly from 64 bits: going through float32 would round twice. All NaNs become the quiet one.
 */

const scratchDouble = new Float64Array(1);
const scratchUint32 = new Uint32Array(scratchDouble.buffer);
const scratchSingle = new Float32Array(1);
const scratchSingleWord = new Uint32Array(scratchSingle.buffer);

/** 2 ** (exponent - 25): the value of one unit of an FP16 significand, by biased exponent. */
const fp16Units = Float64Array.from({ length: 31 }, (_, exponent) => 2 ** (exponent - 25));
const fp16SubnormalUnit = 2 ** -24;
const bf16SubnormalUnit = 2 ** -133;

export function numberFromFp16(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  let magnitude: number;
  if (exponent === 0) magnitude = fraction * fp16SubnormalUnit;
  else if (exponent === 0x1f) magnitude = fraction === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  else magnitude = (0x400 | fraction) * (fp16Units[exponent] as number);
  return (bits & 0x8000) === 0 ? magnitude : -magnitude;
}

export function numberFromBf16(bits: number): number {
  scratchSingleWord[0] = bits << 16;
  return scratchSingle[0] as number;
}

export function fp16From(value: number): number {
  return narrow(value, 10, 15, fp16SubnormalUnit);
}

export function bf16From(value: number): number {
  return narrow(value, 7, 127, bf16SubnormalUnit);
}

/** Writes the values of `bits` to `into`, which must have the same length. */
export function numbersFromFp16(bits: Uint16Array, into: Float32Array): void {
  for (let index = 0; index < bits.length; index += 1) into[index] = numberFromFp16(bits[index] as number);
}

export function numbersFromBf16(bits: Uint16Array, into: Float32Array): void {
  const intoUint32 = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let index = 0; index < bits.length; index += 1) intoUint32[index] = (bits[index] as number) << 16;
}

/** Rounds to a 16-bit float with this many fraction bits; the exponent has the other 15. */
function narrow(value: number, fractionBits: number, bias: number, subnormalUnit: number): number {
  scratchDouble[0] = value;
  const low = scratchUint32[0] as number;
  const high = scratchUint32[1] as number;
  const sign = (high >>> 16) & 0x8000;
  const infinity = (2 * bias + 1) << fractionBits;
  if (Number.isNaN(value)) return infinity | (1 << (fractionBits - 1));
  const exponent = ((high >>> 20) & 0x7ff) - 1023 + bias;
  if (exponent > 2 * bias) return sign | infinity;
  if (exponent <= 0) {
    // Dividing by a power of two is exact here, and a result of 2 ** fractionBits is the smallest normal number's bits.
    return sign | roundHalfToEven(Math.abs(value) / subnormalUnit);
  }
  const droppedBits = 20 - fractionBits;
  const dropped = high & ((1 << droppedBits) - 1);
  const half = 1 << (droppedBits - 1);
  let bits = (exponent << fractionBits) | ((high & 0xfffff) >>> droppedBits);
  const isAboveHalf = dropped > half || (dropped === half && low !== 0);
  // A carry out of the fraction raises the exponent, up to infinity, as it should.
  if (isAboveHalf || (dropped === half && (bits & 1) === 1)) bits += 1;
  return sign | bits;
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1;
  return floor;
}
