/** Numbers of a flat array, for text whose surroundings are known already: the short way of a request that repeats its shape. */
import { NumberScan, scanNumber } from './scan-number.ts';

const comma = 0x2c;
const space = 0x20;

const scan = new NumberScan();

/**
 * Reads as many numbers as `into` has room for from `bytes[start, end)`, separated by commas with at most one space behind them.
 * Returns the position after the last one; -1: anything else is there, which the `JsonReader` may accept or refuse. What it does
 * read is what the `JsonReader` reads.
 */
export function takePlainSingles(bytes: Uint8Array, start: number, end: number, into: Float32Array): number {
  let position = start;
  for (let index = 0; index < into.length; index += 1) {
    if (index > 0) {
      if (position >= end || bytes[position] !== comma) return -1;
      position += 1;
      if (position < end && bytes[position] === space) position += 1;
    }
    if (!isScanned(bytes, position, end) || scan.isWord) return -1;
    const single = Math.fround(scan.value);
    if (Math.abs(single) === Number.POSITIVE_INFINITY) return -1;
    into[index] = single;
    position = scan.end;
  }
  return position;
}

function isScanned(bytes: Uint8Array, position: number, end: number): boolean {
  try {
    return scanNumber(bytes, position, end, scan);
  } catch {
    // It is refused with a message by whoever reads all of the text.
    return false;
  }
}
