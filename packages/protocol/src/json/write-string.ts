/** Writes text as JSON strings: from JavaScript strings, and from UTF-8 bytes as BYTES tensors hold them. */
import type { GrowableBytes } from './growable-bytes.ts';
import { multibyteLength } from './utf8.ts';

const textEncoder = new TextEncoder();

const quote = 0x22;
const backslash = 0x5c;
/** The longest escape: \u and four digits. */
const escapeBytesMax = 6;
/** Free bytes for the longest thing written at once, and for the quotes. */
const freeBytesMin = escapeBytesMax + 2;
/** Strings up to this length are tried character by character before the encoder is called. */
const shortCharactersMax = 64;

export function appendAscii(into: GrowableBytes, text: string): void {
  into.reserve(text.length);
  const { bytes, end } = into;
  for (let index = 0; index < text.length; index += 1) bytes[end + index] = text.charCodeAt(index);
  into.end = end + text.length;
}

/** Appends a string in quotes. A lone surrogate is escaped, as `JSON.stringify` does, for UTF-8 has no bytes for it. */
export function appendQuoted(into: GrowableBytes, text: string): void {
  if (text.length <= shortCharactersMax && tryAppendPlain(into, text)) return;
  if (!isWellFormed(text)) appendAscii(into, asciiQuoted(text));
  else appendQuotedUtf8(into, textEncoder.encode(text));
}

/** Appends UTF-8 in quotes; false, with nothing appended, when the bytes are not valid UTF-8. */
export function appendQuotedUtf8(into: GrowableBytes, text: Uint8Array, from = 0, to = text.length): boolean {
  const lengthBefore = into.end - into.start;
  into.reserve(to - from + freeBytesMin);
  into.bytes[into.end++] = quote;
  if (!appendEscapedUtf8(into, text, from, to)) {
    into.end = into.start + lengthBefore;
    return false;
  }
  into.reserve(1);
  into.bytes[into.end++] = quote;
  return true;
}

/** Appends whole characters of a string without its quotes; false when the bytes are not valid UTF-8. */
export function appendEscapedUtf8(into: GrowableBytes, text: Uint8Array, from: number, to: number): boolean {
  into.reserve(to - from + freeBytesMin);
  let { bytes, end: written } = into;
  let position = from;
  while (position < to) {
    if (written + freeBytesMin > bytes.length) {
      // Escapes have taken more bytes than the text has.
      into.end = written;
      into.reserve(to - position + freeBytesMin);
      bytes = into.bytes;
      written = into.end;
    }
    const byte = text[position] as number;
    if (byte >= 0x80) {
      const length = multibyteLength(text, position, to);
      if (length === 0) return false;
      for (let index = 0; index < length; index += 1) bytes[written + index] = text[position + index] as number;
      written += length;
      position += length;
      continue;
    }
    if (byte < 0x20 || byte === quote || byte === backslash) written = writeEscape(bytes, written, byte);
    else bytes[written++] = byte;
    position += 1;
  }
  into.end = written;
  return true;
}

/** Appends a short string of plain characters, which most keys and names are. */
function tryAppendPlain(into: GrowableBytes, text: string): boolean {
  into.reserve(text.length + 2);
  const { bytes } = into;
  let written = into.end;
  bytes[written++] = quote;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit >= 0x80 || unit === quote || unit === backslash) return false;
    bytes[written++] = unit;
  }
  bytes[written++] = quote;
  into.end = written;
  return true;
}

function writeEscape(bytes: Uint8Array, at: number, byte: number): number {
  bytes[at] = backslash;
  const letter = escapeLetter(byte);
  if (letter !== 0) {
    bytes[at + 1] = letter;
    return at + 2;
  }
  bytes[at + 1] = 0x75;
  bytes[at + 2] = 0x30;
  bytes[at + 3] = 0x30;
  bytes[at + 4] = 0x30 + (byte >>> 4);
  const low = byte & 0xf;
  bytes[at + 5] = low < 10 ? 0x30 + low : 0x57 + low;
  return at + escapeBytesMax;
}

function escapeLetter(byte: number): number {
  switch (byte) {
    case quote:
    case backslash:
      return byte;
    case 0x08:
      return 0x62;
    case 0x09:
      return 0x74;
    case 0x0a:
      return 0x6e;
    case 0x0c:
      return 0x66;
    case 0x0d:
      return 0x72;
    default:
      return 0;
  }
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function asciiQuoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
