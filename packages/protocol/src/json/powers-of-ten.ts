/**
 * Powers of ten in the forms that the number codecs need: exact, nearest, and in pieces that multiply without rounding.
 */

/** The largest power of ten that a double holds exactly. */
export const exactPowerMax = 22;

/** 10 ** index, exact. */
export const exactPowersOfTen = Float64Array.from({ length: exactPowerMax + 1 }, (_, index) => Number(`1e${index}`));

/** Powers from -splitPowerMax to splitPowerMax are available in pieces. */
export const splitPowerMax = 64;

/** Bits of the first and of the second piece: times an integer of 30 bits, each product has at most 53 and is exact. */
const pieceBits = 23n;

/**
 * 10 ** e = pieces[3i] + pieces[3i + 1] + pieces[3i + 2] for i = e + splitPowerMax, with a relative error below 2^-98:
 * two pieces of 23 bits and the rest, rounded to a double.
 */
export const splitPowersOfTen = buildSplitPowers();

function buildSplitPowers(): Float64Array {
  const pieces = new Float64Array(3 * (2 * splitPowerMax + 1));
  for (let exponent = -splitPowerMax; exponent <= splitPowerMax; exponent += 1) {
    const numerator = exponent > 0 ? 10n ** BigInt(exponent) : 1n;
    const denominator = exponent < 0 ? 10n ** BigInt(-exponent) : 1n;
    // A significand of 128 bits or a few more, so that two pieces leave more than 80 bits for the third to round.
    const shift = 128 - (numerator.toString(2).length - denominator.toString(2).length);
    const scaled =
      shift >= 0 ? (numerator << BigInt(shift)) / denominator : (numerator >> BigInt(-shift)) / denominator;
    const length = BigInt(scaled.toString(2).length);
    const afterFirst = scaled & ((1n << (length - pieceBits)) - 1n);
    const afterSecond = scaled & ((1n << (length - 2n * pieceBits)) - 1n);
    const at = 3 * (exponent + splitPowerMax);
    const unit = 2 ** -shift;
    pieces[at] = Number(scaled - afterFirst) * unit;
    pieces[at + 1] = Number(afterFirst - afterSecond) * unit;
    pieces[at + 2] = Number(afterSecond) * unit;
  }
  return pieces;
}
