import { InferenceError } from '../errors.ts';

/** A refusal that says where in the text, what was expected and what is there. */
export function jsonError(bytes: Uint8Array, offset: number, end: number, expected: string): InferenceError {
  return jsonErrorAt(bytes, offset, `expected ${expected}, found ${describeByte(bytes, offset, end)}`);
}

/** A refusal that says where in the text (columns count bytes), and a problem in its own words. */
export function jsonErrorAt(bytes: Uint8Array, offset: number, problem: string): InferenceError {
  let line = 1;
  let lineStart = 0;
  for (
    let newline = bytes.indexOf(0x0a);
    newline !== -1 && newline < offset;
    newline = bytes.indexOf(0x0a, lineStart)
  ) {
    line += 1;
    lineStart = newline + 1;
  }
  const where = `line ${line}, column ${offset - lineStart + 1} (byte ${offset})`;
  return new InferenceError('invalid-request', `JSON at ${where}: ${problem}`);
}

function describeByte(bytes: Uint8Array, offset: number, end: number): string {
  if (offset >= end) return 'the end of the text';
  const byte = bytes[offset] as number;
  if (byte === 0xef && bytes[offset + 1] === 0xbb && bytes[offset + 2] === 0xbf) return 'a byte order mark';
  if (byte === 0x27) return `"'"`;
  if (byte > 0x20 && byte < 0x7f) return `'${String.fromCharCode(byte)}'`;
  return `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
