import { ConfigTextError } from './config-text-error.ts';
import type { Token } from './tokenizer.ts';

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 0x07,
  b: 0x08,
  f: 0x0c,
  n: 0x0a,
  r: 0x0d,
  t: 0x09,
  v: 0x0b,
  '\\': 0x5c,
  '?': 0x3f,
  "'": 0x27,
  '"': 0x22,
};
const octalEscape = /[0-7]{1,3}/y;
const hexEscape = /[xX]([0-9A-Fa-f]{1,2})/y;
const unicodeEscape = /u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})/y;
const lowSurrogateEscape = /\\u([dD][c-fC-F][0-9A-Fa-f]{2})/y;

/**
 * The bytes a quoted string stands for. Bytes and not text, because octal and hex escapes name bytes, and a character
 * may be put together from several of them.
 */
export function bytesFromLiteral(token: Token): Uint8Array {
  const inside = token.text.slice(1, -1);
  const parts: Uint8Array[] = [];
  let plainFrom = 0;
  for (let at = inside.indexOf('\\'); at !== -1; at = inside.indexOf('\\', plainFrom)) {
    parts.push(Buffer.from(inside.slice(plainFrom, at), 'utf8'));
    const { bytes, length } = readEscape(inside, at + 1, token);
    parts.push(bytes);
    plainFrom = at + 1 + length;
  }
  parts.push(Buffer.from(inside.slice(plainFrom), 'utf8'));
  return Buffer.concat(parts);
}

function readEscape(text: string, at: number, token: Token): { bytes: Uint8Array; length: number } {
  const letter = text[at] ?? '';
  const simple = Object.hasOwn(simpleEscapes, letter) ? simpleEscapes[letter] : undefined;
  if (simple !== undefined) return { bytes: Uint8Array.of(simple), length: 1 };

  const octal = match(octalEscape, text, at);
  if (octal !== undefined) {
    const value = Number.parseInt(octal[0], 8);
    if (value > 0xff) throw errorAt(token, at, `the escape \\${octal[0]} is larger than a byte; the largest is \\377`);
    return { bytes: Uint8Array.of(value), length: octal[0].length };
  }
  const hex = match(hexEscape, text, at);
  if (hex !== undefined) {
    return { bytes: Uint8Array.of(Number.parseInt(hex[1] ?? '', 16)), length: hex[0].length };
  }
  const unicode = match(unicodeEscape, text, at);
  if (unicode !== undefined) return readUnicodeEscape(unicode, text, at, token);
  throw errorAt(token, at, `\\${letter} is not an escape; write \\\\ for a backslash`);
}

function readUnicodeEscape(found: RegExpExecArray, text: string, at: number, token: Token) {
  let point = Number.parseInt(found[1] ?? found[2] ?? '', 16);
  let length = found[0].length;
  if (point >= 0xd800 && point <= 0xdbff) {
    const low = match(lowSurrogateEscape, text, at + length);
    if (low !== undefined) {
      point = 0x10000 + ((point - 0xd800) << 10) + (Number.parseInt(low[1] ?? '', 16) - 0xdc00);
      length += low[0].length;
    }
  }
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) {
    throw errorAt(token, at, `\\${found[0]} is not a Unicode character`);
  }
  return { bytes: Buffer.from(String.fromCodePoint(point), 'utf8'), length };
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function errorAt(token: Token, insideAt: number, message: string): ConfigTextError {
  return new ConfigTextError(message, token.line, token.column + insideAt);
}
