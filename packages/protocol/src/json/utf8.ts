/** Validates UTF-8 as the standard defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */

/** The length of the well-formed sequence of two to four bytes at `position`; 0 when it is not well-formed. */
export function multibyteLength(bytes: Uint8Array, position: number, end: number): number {
  const lead = bytes[position] as number;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (position + length > end) return 0;
  const second = bytes[position + 1] as number;
  if ((second & 0xc0) !== 0x80) return 0;
  if (lead === 0xe0 && second < 0xa0) return 0;
  if (lead === 0xed && second > 0x9f) return 0;
  if (lead === 0xf0 && second < 0x90) return 0;
  if (lead === 0xf4 && second > 0x8f) return 0;
  for (let index = 2; index < length; index += 1) {
    if (((bytes[position + index] as number) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Writes a code point (not a surrogate) and returns the position after it. */
export function writeCodePoint(into: Uint8Array, position: number, codePoint: number): number {
  if (codePoint < 0x80) {
    into[position] = codePoint;
    return position + 1;
  }
  if (codePoint < 0x800) {
    into[position] = 0xc0 | (codePoint >>> 6);
    into[position + 1] = 0x80 | (codePoint & 0x3f);
    return position + 2;
  }
  if (codePoint < 0x10000) {
    into[position] = 0xe0 | (codePoint >>> 12);
    into[position + 1] = 0x80 | ((codePoint >>> 6) & 0x3f);
    into[position + 2] = 0x80 | (codePoint & 0x3f);
    return position + 3;
  }
  into[position] = 0xf0 | (codePoint >>> 18);
  into[position + 1] = 0x80 | ((codePoint >>> 12) & 0x3f);
  into[position + 2] = 0x80 | ((codePoint >>> 6) & 0x3f);
  into[position + 3] = 0x80 | (codePoint & 0x3f);
  return position + 4;
}
