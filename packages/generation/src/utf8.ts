/** How many bytes the character at the beginning takes; 0: it is not complete yet; -1: no character begins with these bytes. */
export function leadingCharacterBytes(bytes: readonly number[]): number {
  const first = bytes[0];
  if (first === undefined) return 0;
  if (first < 0x80) return 1;
  const length =
    first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length === 0) return -1;
  // Overlong forms, surrogates and numbers above U+10FFFF are excluded by the second byte.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let index = 1; index < Math.min(length, bytes.length); index++) {
    const byte = bytes[index] as number;
    if (byte < (index === 1 ? least : 0x80) || byte > (index === 1 ? most : 0xbf)) return -1;
  }
  return bytes.length >= length ? length : 0;
}
