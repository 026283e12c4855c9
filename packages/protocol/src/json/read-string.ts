/** Reads JSON strings from UTF-8 bytes: to text, to raw UTF-8, or skips them. All three check the whole string. */
import type { InferenceError } from '../errors.ts';
import { GrowableBytes } from './growable-bytes.ts';
import { jsonError, jsonErrorAt } from './json-error.ts';
import { multibyteLength, writeCodePoint } from './utf8.ts';

const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const quote = 0x22;
const backslash = 0x5c;

/**
 * Repeated short strings (keys, tensor names, datatypes) are created once. The table has a fixed size and is
 * overwritten.
 */
const rememberedCharactersMax = 32;
const rememberedMask = 0xff;
const remembered: string[] = new Array<string>(rememberedMask + 1).fill('');

/** Below this length text is cheaper to create from character codes than with a TextDecoder. */
const shortCharactersMax = 64;

/** The end of a string, and whether its bytes equal its text. */
export class StringScan {
  /** Position after the closing quote; for a part without it, after the last character. */
  end = 0;
  hasEscapes: boolean = false;
  isAscii: boolean = false;
}

/**
 * Checks a string from `from` on, to its closing quote or to the first character at or after `stop`; returns whether
 * that was the quote.
 */
export function scanStringPart(bytes: Uint8Array, from: number, stop: number, end: number, into: StringScan): boolean {
  let position = from;
  let hasEscapes = false;
  let isAscii = true;
  let isClosed = false;
  while (position < stop) {
    const byte = bytes[position] as number;
    if (byte === quote) {
      isClosed = true;
      position += 1;
      break;
    }
    if (byte === backslash) {
      hasEscapes = true;
      position += escapeLength(bytes, position, end);
    } else if (byte >= 0x80) {
      isAscii = false;
      const length = multibyteLength(bytes, position, end);
      if (length === 0) throw jsonErrorAt(bytes, position, 'a string is not valid UTF-8');
      position += length;
    } else if (byte < 0x20) {
      throw jsonErrorAt(
        bytes,
        position,
        `a string has the control byte 0x${hex2(byte)}; escape it as \\u00${hex2(byte)}`,
      );
    } else position += 1;
  }
  into.end = position;
  into.hasEscapes = hasEscapes;
  into.isAscii = isAscii;
  return isClosed;
}

export function unclosedString(bytes: Uint8Array, start: number): InferenceError {
  return jsonErrorAt(bytes, start, 'a string has no closing quote');
}

/** The text of a scanned string. */
export function textOfString(bytes: Uint8Array, start: number, scan: StringScan): string {
  const from = start + 1;
  const to = scan.end - 1;
  if (scan.hasEscapes) {
    const unescaped = new GrowableBytes(to - from);
    appendStringPart(bytes, from, to, true, unescaped);
    return textDecoder.decode(unescaped.take());
  }
  const length = to - from;
  if (!scan.isAscii || length > shortCharactersMax) return textDecoder.decode(bytes.subarray(from, to));
  if (length > rememberedCharactersMax) return asciiText(bytes, from, to);
  let hash = length;
  for (let position = from; position < to; position += 1)
    hash = (Math.imul(hash, 31) + (bytes[position] as number)) | 0;
  const index = (hash ^ (hash >>> 8)) & rememberedMask;
  const known = remembered[index] as string;
  if (isSameText(known, bytes, from, to)) return known;
  const text = asciiText(bytes, from, to);
  remembered[index] = text;
  return text;
}

/** Appends the UTF-8 of a scanned string, or of a part of one without its quotes, escapes resolved. */
export function appendStringPart(
  bytes: Uint8Array,
  from: number,
  to: number,
  hasEscapes: boolean,
  into: GrowableBytes,
): void {
  // An escape is never shorter than the UTF-8 it stands for.
  into.reserve(to - from);
  const target = into.bytes;
  let written = into.end;
  if (!hasEscapes && to - from > shortCharactersMax) {
    target.set(bytes.subarray(from, to), written);
    into.end = written + to - from;
    return;
  }
  let position = from;
  while (position < to) {
    const byte = bytes[position] as number;
    if (byte !== backslash) {
      target[written] = byte;
      written += 1;
      position += 1;
      continue;
    }
    const letter = bytes[position + 1] as number;
    if (letter !== 0x75) {
      target[written] = simpleEscape(letter);
      written += 1;
      position += 2;
      continue;
    }
    const unit = hex4(bytes, position + 2, to);
    if (unit >= 0xd800 && unit < 0xe000) {
      written = writeCodePoint(
        target,
        written,
        0x10000 + ((unit - 0xd800) << 10) + (hex4(bytes, position + 8, to) - 0xdc00),
      );
      position += 12;
    } else {
      written = writeCodePoint(target, written, unit);
      position += 6;
    }
  }
  into.end = written;
}

/** The length of the escape at `position`: 2, 6, or 12 for a pair of surrogates. */
function escapeLength(bytes: Uint8Array, position: number, end: number): number {
  const letter = position + 1 < end ? (bytes[position + 1] as number) : -1;
  if (letter !== 0x75) {
    if (simpleEscape(letter) === -1)
      throw jsonError(bytes, position + 1, end, 'one of " \\ / b f n r t u after a backslash');
    return 2;
  }
  const unit = hex4(bytes, position + 2, end);
  if (unit === -1) throw jsonErrorAt(bytes, position, 'an escape \\u needs four hexadecimal digits');
  if (unit < 0xd800 || unit > 0xdfff) return 6;
  const isPairBegun = unit < 0xdc00 && bytes[position + 6] === backslash && bytes[position + 7] === 0x75;
  const second = isPairBegun ? hex4(bytes, position + 8, end) : -1;
  if (second < 0xdc00 || second > 0xdfff) {
    throw jsonErrorAt(
      bytes,
      position,
      `a string has the lone surrogate \\u${unit.toString(16)}, which is not a character`,
    );
  }
  return 12;
}

function simpleEscape(letter: number): number {
  switch (letter) {
    case 0x22:
    case 0x2f:
    case 0x5c:
      return letter;
    case 0x62:
      return 0x08;
    case 0x66:
      return 0x0c;
    case 0x6e:
      return 0x0a;
    case 0x72:
      return 0x0d;
    case 0x74:
      return 0x09;
    default:
      return -1;
  }
}

/** Four hexadecimal digits; -1 when they are invalid. */
function hex4(bytes: Uint8Array, position: number, end: number): number {
  if (position + 4 > end) return -1;
  let value = 0;
  for (let index = 0; index < 4; index += 1) {
    const byte = bytes[position + index] as number;
    const lower = byte | 0x20;
    let digit: number;
    if (byte >= 0x30 && byte <= 0x39) digit = byte - 0x30;
    else if (lower >= 0x61 && lower <= 0x66) digit = lower - 0x57;
    else return -1;
    value = (value << 4) | digit;
  }
  return value;
}

function hex2(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function asciiText(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode.apply(null, bytes.subarray(from, to) as unknown as number[]);
}

function isSameText(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  if (text.length !== to - from) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (text.charCodeAt(index) !== bytes[from + index]) return false;
  }
  return true;
}
