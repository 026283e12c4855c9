/** Formats numbers as C++'s `std::to_string` does, for classification strings, which clients parse. */

/** Doubles from here on have no fraction, and `toFixed` would use exponents. */
const exponentFrom = 1e21;

/** `%f`: six decimals, ties to even, `nan`, `inf`. */
export function textFromDouble(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (value === Infinity) return 'inf';
  if (value === -Infinity) return '-inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const magnitude = Math.abs(value);
  if (magnitude >= exponentFrom) return `${sign}${BigInt(magnitude)}.000000`;
  // Halfway between two six-digit decimals lie exactly the odd multiples of 1/128; toFixed rounds those up.
  const parts = magnitude * 128;
  if (Number.isInteger(parts) && parts % 2 === 1) return sign + tieToEven(BigInt(parts));
  return sign + magnitude.toFixed(6);
}

/** The magnitude is `parts / 128`, so twice its millionths are `parts * 15625`. */
function tieToEven(parts: bigint): string {
  let millionths = (parts * 15_625n) / 2n;
  if (millionths % 2n === 1n) millionths += 1n;
  const digits = millionths.toString().padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

export function textFromElement(value: number | bigint, isFloat: boolean): string {
  return typeof value === 'number' && isFloat ? textFromDouble(value) : String(value);
}
