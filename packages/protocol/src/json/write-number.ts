/**
 * Writes numbers as text into bytes, without creating a string where possible. Every function returns the position
 * after what it wrote and needs `numberCharactersReserved` free bytes. Budget: 60 ns for an FP32 of nine digits.
 */
import { exactPowersOfTen } from './powers-of-ten.ts';

/** The longest text that these functions write: a sign, 17 digits, a point, an exponent; and what surrounds it. */
export const numberCharactersReserved = 40;

/**
 * Half the distance to the next larger number of a format, by the exponent field of the number as FP32: it determines
 * how many digits distinguish a number from its neighbours.
 */
export type FloatFormat = Float64Array;

function floatFormat(fractionBits: number, exponentMin: number): FloatFormat {
  return Float64Array.from({ length: 255 }, (_, field) => {
    const exponent = Math.max(field - 127, exponentMin);
    return 2 ** (exponent - fractionBits - 1);
  });
}

export const fp32Format = floatFormat(23, -126);
export const fp16Format = floatFormat(10, -14);
export const bf16Format = floatFormat(7, -126);

const single = new Float32Array(1);
const singleWord = new Uint32Array(single.buffer);

/** 10 ** scale brings a number with this FP32 exponent field to between 1e8 and 2e9: nine or ten digits. */
const scales = Int8Array.from({ length: 255 }, (_, field) => 8 - Math.floor(Math.log10(2 ** (field - 127))));
const scaleFactors = Float64Array.from(scales, (scale) => Number(`1e${scale}`));

/** More than the error of the scaled bounds (they are below 2^31, and two roundings each are below 1e-6). */
const boundsDoubt = 1e-5;
const wholeMax = 1e7;

/** Writes a number of up to 32 bits so that rounding the text to its format gives it back, with few digits. */
export function writeFloat(into: Uint8Array, at: number, value: number, format: FloatFormat): number {
  if (Math.abs(value) < wholeMax && Math.trunc(value) === value) return writeWhole(into, at, value);
  single[0] = value;
  const word = singleWord[0] as number;
  const field = (word >>> 23) & 0xff;
  if (field === 0xff) return writeWord(into, at, value);
  let position = at;
  let magnitude = value;
  if (value < 0) {
    into[position++] = 0x2d;
    magnitude = -value;
  }
  const halfGap = format[field] as number;
  // FP32 subnormals have fewer digits than their exponent field says; they are rare enough for a search by text.
  if (field === 0) return writeAscii(into, position, searchShortest(magnitude, halfGap));
  // Below a power of two the numbers are twice as dense.
  const isPowerOfTwo = (word & 0x7f_ffff) === 0;
  const factor = scaleFactors[field] as number;
  const scaled = magnitude * factor;
  const low = (magnitude - (isPowerOfTwo ? halfGap / 2 : halfGap)) * factor + boundsDoubt;
  const high = (magnitude + halfGap) * factor - boundsDoubt;
  // The multiple of the largest power of ten that is between the bounds; a multiple of it is one of all smaller ones.
  let digits = Math.round(scaled);
  let exponent = -(scales[field] as number);
  for (let unit = 10; ; unit *= 10) {
    const candidate = Math.round(scaled / unit);
    const rounded = candidate * unit;
    if (rounded <= low || rounded >= high) break;
    digits = candidate;
    exponent += 1;
  }
  return writeDecimal(into, position, digits, exponent);
}

/** Writes a 64-bit float so that it reads back the same, with the fewest digits. */
export function writeDouble(into: Uint8Array, at: number, value: number): number {
  if (Math.abs(value) < wholeMax && Math.trunc(value) === value) return writeWhole(into, at, value);
  const text = String(value);
  const end = writeAscii(into, at, text);
  // Digits alone are marked as a float, as everywhere else.
  if (!Number.isInteger(value) || text.includes('e')) return end;
  return writeAscii(into, end, '.0');
}

/** Writes an integer of up to 53 bits. */
export function writeInteger(into: Uint8Array, at: number, value: number): number {
  let position = at;
  let rest = value;
  if (rest < 0) {
    into[position++] = 0x2d;
    rest = -rest;
  }
  if (rest < 1e9) return writeDigits(into, position, rest, countDigits(rest));
  const upper = Math.floor(rest / 1e9);
  position = writeDigits(into, position, upper, countDigits(upper));
  return writeDigits(into, position, rest - upper * 1e9, 9);
}

/** A small whole number as a float: `1.0`, as Triton writes it, so that clients that parse the text see a float. */
function writeWhole(into: Uint8Array, at: number, value: number): number {
  let position = at;
  if (value < 0 || Object.is(value, -0)) into[position++] = 0x2d;
  const magnitude = Math.abs(value);
  position = writeDigits(into, position, magnitude, countDigits(magnitude));
  into[position] = 0x2e;
  into[position + 1] = 0x30;
  return position + 2;
}

/** Writes digits times 10 ** exponent: plain between 1e-6 and 1e21, otherwise with an exponent. */
function writeDecimal(into: Uint8Array, at: number, digits: number, exponent: number): number {
  const count = countDigits(digits);
  // Digits before the decimal point.
  const whole = count + exponent;
  if (whole > 21 || whole < -5) {
    const end = writePointed(into, at, digits, count, 1);
    into[end] = 0x65;
    return writeInteger(into, end + 1, whole - 1);
  }
  if (whole <= 0) {
    into[at] = 0x30;
    into[at + 1] = 0x2e;
    return writeDigits(into, at + 2, digits, count - whole);
  }
  if (exponent < 0) return writePointed(into, at, digits, count, whole);
  const end = writeDigits(into, at, digits, count);
  for (let zero = 0; zero < exponent; zero += 1) into[end + zero] = 0x30;
  return writeAscii(into, end + exponent, '.0');
}

/** Writes digits with a point after the first `whole` of them, and no point when there are no more. */
function writePointed(into: Uint8Array, at: number, digits: number, count: number, whole: number): number {
  if (count === whole) return writeDigits(into, at, digits, count);
  const unit = exactPowersOfTen[count - whole] as number;
  const upper = Math.floor(digits / unit);
  const point = writeDigits(into, at, upper, whole);
  into[point] = 0x2e;
  return writeDigits(into, point + 1, digits - upper * unit, count - whole);
}

/** Writes an integer below 2^32 as `count` digits, with leading zeros where it has fewer. */
function writeDigits(into: Uint8Array, at: number, value: number, count: number): number {
  let rest = value >>> 0;
  for (let position = at + count - 1; position >= at; position -= 1) {
    const quotient = (rest / 10) >>> 0;
    into[position] = 0x30 + rest - quotient * 10;
    rest = quotient;
  }
  return at + count;
}

function countDigits(value: number): number {
  if (value < 1e5) {
    if (value < 1e2) return value < 10 ? 1 : 2;
    if (value < 1e3) return 3;
    return value < 1e4 ? 4 : 5;
  }
  if (value < 1e7) return value < 1e6 ? 6 : 7;
  if (value < 1e8) return 8;
  return value < 1e9 ? 9 : 10;
}

function searchShortest(magnitude: number, halfGap: number): string {
  for (let precision = 1; precision < 17; precision += 1) {
    const candidate = Number(magnitude.toPrecision(precision));
    if (Math.abs(candidate - magnitude) < halfGap) return String(candidate);
  }
  return String(magnitude);
}

function writeWord(into: Uint8Array, at: number, value: number): number {
  if (Number.isNaN(value)) return writeAscii(into, at, 'NaN');
  return writeAscii(into, at, value > 0 ? 'Infinity' : '-Infinity');
}

function writeAscii(into: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index += 1) into[at + index] = text.charCodeAt(index);
  return at + text.length;
}
