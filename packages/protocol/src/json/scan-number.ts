/**
 * Reads one JSON number from UTF-8 bytes: correctly rounded, without creating a string except in rare cases. Budget:
 * 60 ns for a number of 17 digits.
 */
import { jsonError, jsonErrorAt } from './json-error.ts';
import { exactPowerMax, exactPowersOfTen, splitPowerMax, splitPowersOfTen } from './powers-of-ten.ts';

/** The longest number that is read: limits the work for one token. */
export const numberCharactersMax = 1024;

/** The result. Created once and filled many times, so that numbers cost no garbage. */
export class NumberScan {
  /** The nearest double; infinite when the number is outside the range of doubles. */
  value = Number.NaN;
  /** Where the number begins, and the position after it. */
  start = 0;
  end = 0;
  /** It has digits only: no point and no exponent. */
  isInteger: boolean = false;
  /** It is one of the literals NaN, Infinity and -Infinity, which JSON lacks and this protocol's clients write. */
  isWord: boolean = false;
}

/** Significant digits that are collected as two integers of nine digits. */
const gatheredDigitsMax = 18;
const exponentClamp = 100_000;

/** Reads the number at `start`; false, with nothing read, where no number begins. Throws on a malformed one. */
export function scanNumber(bytes: Uint8Array, start: number, textEnd: number, into: NumberScan): boolean {
  let position = start;
  // One character more than allowed is enough to refuse the number, and no more are read.
  const end = Math.min(textEnd, start + numberCharactersMax + 1);
  let byte = position < end ? (bytes[position] as number) : 0;
  const isNegative = byte === 0x2d;
  if (isNegative) {
    position += 1;
    byte = position < end ? (bytes[position] as number) : 0;
  }
  let digit = byte - 0x30;
  if (digit >>> 0 > 9) return scanWord(bytes, start, textEnd, into);

  // The first nine significant digits, the next nine, how many there are in all, and how many are behind the point.
  let leading = 0;
  let following = 0;
  let digits = 0;
  let scale = 0;
  let isInteger = true;
  if (digit === 0) {
    position += 1;
    if (position < end && ((bytes[position] as number) - 0x30) >>> 0 <= 9) {
      throw jsonErrorAt(bytes, start, 'a number must not have leading zeros');
    }
  } else {
    do {
      if (digits < 9) leading = (leading * 10 + digit) | 0;
      else if (digits < gatheredDigitsMax) following = (following * 10 + digit) | 0;
      digits += 1;
      position += 1;
      if (position >= end) break;
      digit = (bytes[position] as number) - 0x30;
    } while (digit >>> 0 <= 9);
  }
  if (position < end && bytes[position] === 0x2e) {
    isInteger = false;
    position += 1;
    const fractionStart = position;
    if (digits === 0) while (position < end && bytes[position] === 0x30) position += 1;
    while (position < end) {
      digit = (bytes[position] as number) - 0x30;
      if (digit >>> 0 > 9) break;
      if (digits < 9) leading = (leading * 10 + digit) | 0;
      else if (digits < gatheredDigitsMax) following = (following * 10 + digit) | 0;
      digits += 1;
      position += 1;
    }
    scale = fractionStart - position;
    if (scale === 0 && position - start <= numberCharactersMax) {
      throw jsonError(bytes, position, textEnd, 'a digit after the decimal point');
    }
  }
  if (position < end && ((bytes[position] as number) | 0x20) === 0x65) {
    isInteger = false;
    position += 1;
    const sign = position < end ? (bytes[position] as number) : 0;
    if (sign === 0x2b || sign === 0x2d) position += 1;
    const exponentStart = position;
    let exponent = 0;
    while (position < end) {
      digit = (bytes[position] as number) - 0x30;
      if (digit >>> 0 > 9) break;
      exponent = Math.min(exponent * 10 + digit, exponentClamp);
      position += 1;
    }
    if (position === exponentStart && position - start <= numberCharactersMax) {
      throw jsonError(bytes, position, textEnd, 'a digit of the exponent');
    }
    scale += sign === 0x2d ? -exponent : exponent;
  }
  if (position - start > numberCharactersMax) {
    throw jsonErrorAt(bytes, start, `a number has more than ${numberCharactersMax} characters`);
  }

  into.start = start;
  into.end = position;
  into.isInteger = isInteger;
  into.isWord = false;
  const value = digits <= gatheredDigitsMax ? assemble(leading, following, digits, scale) : Number.NaN;
  // NaN: too many digits, too large an exponent, or too close to the middle between two doubles to be sure.
  if (!Number.isNaN(value)) into.value = isNegative ? -value : value;
  else into.value = Number(textOfNumber(bytes, into));
  return true;
}

/** The digits of the number last read, as text: for messages and for integers beyond 2^53. */
export function textOfNumber(bytes: Uint8Array, scan: NumberScan): string {
  let text = '';
  for (let position = scan.start; position < scan.end; position += 1) {
    text += String.fromCharCode(bytes[position] as number);
  }
  return text;
}

/** The double nearest to the collected digits times 10 ** scale, or NaN when that is not certain. */
function assemble(leading: number, following: number, digits: number, scale: number): number {
  if (digits <= 15) {
    const significand = digits <= 9 ? leading : leading * (exactPowersOfTen[digits - 9] as number) + following;
    // Both operands are exact, so the one operation rounds correctly.
    if (scale <= 0) {
      if (scale >= -exactPowerMax) return significand / (exactPowersOfTen[-scale] as number);
    } else if (scale <= exactPowerMax) return significand * (exactPowersOfTen[scale] as number);
    if (significand === 0) return 0;
  }
  const followingDigits = digits > 9 ? digits - 9 : 0;
  const leadingScale = scale + followingDigits;
  if (scale < -splitPowerMax || leadingScale > splitPowerMax) return Number.NaN;
  const a = 3 * (leadingScale + splitPowerMax);
  const b = 3 * (scale + splitPowerMax);
  // The first product is exact. What is added to it is at most 2^-20 of it and off by at most 2^-52 of itself, so the
  // sum before its one rounding is off by less than 2^-70; if that much either way rounds the same, the result is right.
  const main = leading * (splitPowersOfTen[a] as number);
  const rest =
    leading * (splitPowersOfTen[a + 1] as number) +
    following * (splitPowersOfTen[b] as number) +
    (leading * (splitPowersOfTen[a + 2] as number) +
      following * (splitPowersOfTen[b + 1] as number) +
      following * (splitPowersOfTen[b + 2] as number));
  const doubt = main * 2 ** -68;
  const value = main + (rest - doubt);
  return value === main + (rest + doubt) ? value : Number.NaN;
}

const literals: readonly [text: string, value: number][] = [
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

function scanWord(bytes: Uint8Array, start: number, end: number, into: NumberScan): boolean {
  for (const [text, value] of literals) {
    if (!isWordAt(bytes, start, end, text)) continue;
    into.start = start;
    into.end = start + text.length;
    into.isInteger = false;
    into.isWord = true;
    into.value = value;
    return true;
  }
  const first = start < end ? bytes[start] : 0;
  if (first === 0x2d) throw jsonError(bytes, start + 1, end, "a digit or 'Infinity' after '-'");
  if (first === 0x4e) throw jsonErrorAt(bytes, start, "the only number that begins with 'N' is NaN");
  if (first === 0x49) throw jsonErrorAt(bytes, start, "the only number that begins with 'I' is Infinity");
  return false;
}

/** Whether these ASCII characters are at `start`. */
export function isWordAt(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (start + text.length > end) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}
