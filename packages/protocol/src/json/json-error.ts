import { InferenceError } from '../errors.ts';

/** An error with the position in the text, what was expected and what was found. */
export function jsonError(bytes: Uint8Array, offset: number, end: number, expected: string): InferenceError {
  return jsonErrorAt(bytes, offset, `expected ${expected}, found ${describeByte(bytes, offset, end)}`);
}

/** Lines are counted up to here: a text of line breaks alone must not make its error expensive. */
const countedBytesMax = 64 * 1024;

/** An error with the position in the text (columns count bytes) and a given problem. */
export function jsonErrorAt(bytes: Uint8Array, offset: number, problem: string): InferenceError {
  return new InferenceError('invalid-request', `JSON at ${positionOf(bytes, offset)}: ${problem}`);
}

/** The same for a text that exceeds a limit. */
export function jsonTooLargeAt(bytes: Uint8Array, offset: number, problem: string): InferenceError {
  return new InferenceError('request-too-large', `JSON at ${positionOf(bytes, offset)}: ${problem}`);
}

function positionOf(bytes: Uint8Array, offset: number): string {
  if (offset > countedBytesMax) return `byte ${offset}`;
  let line = 1;
  let lineStart = 0;
  for (let position = 0; position < offset; position += 1) {
    if (bytes[position] !== 0x0a) continue;
    line += 1;
    lineStart = position + 1;
  }
  return `line ${line}, column ${offset - lineStart + 1} (byte ${offset})`;
}

function describeByte(bytes: Uint8Array, offset: number, end: number): string {
  if (offset >= end) return 'the end of the text';
  const byte = bytes[offset] as number;
  if (byte === 0xef && bytes[offset + 1] === 0xbb && bytes[offset + 2] === 0xbf) return 'a byte order mark';
  if (byte === 0x27) return `"'"`;
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
