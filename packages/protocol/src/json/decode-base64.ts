/** The value of each character of base64 (RFC 4648, section 4); -1 for all others. */
const values = new Int8Array(256).fill(-1);
for (const [value, character] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  values[character.charCodeAt(0)] = value;
}

const padding = 0x3d;

/**
 * Decodes groups of four characters in place, so that large texts can be decoded in parts. Only the last group may be
 * padded, and only where `isLast`. Returns the end of the decoded bytes; -1: this is not base64.
 */
export function decodeBase64InPlace(bytes: Uint8Array, from: number, to: number, isLast: boolean): number {
  if ((to - from) % 4 !== 0) return -1;
  let padded = 0;
  while (isLast && padded < 2 && to - padded > from && bytes[to - padded - 1] === padding) padded += 1;
  let written = from;
  let problem = 0;
  const whole = padded === 0 ? to : to - 4;
  for (let position = from; position < whole; position += 4) {
    const a = values[bytes[position] as number] as number;
    const b = values[bytes[position + 1] as number] as number;
    const c = values[bytes[position + 2] as number] as number;
    const d = values[bytes[position + 3] as number] as number;
    // The -1 of a character that is not base64 sets the sign bit for good.
    problem |= a | b | c | d;
    bytes[written] = (a << 2) | (b >> 4);
    bytes[written + 1] = (b << 4) | (c >> 2);
    bytes[written + 2] = (c << 6) | d;
    written += 3;
  }
  if (padded > 0) {
    const a = values[bytes[whole] as number] as number;
    const b = values[bytes[whole + 1] as number] as number;
    const c = padded === 2 ? 0 : (values[bytes[whole + 2] as number] as number);
    problem |= a | b | c;
    bytes[written] = (a << 2) | (b >> 4);
    written += 1;
    if (padded === 1) {
      bytes[written] = (b << 4) | (c >> 2);
      written += 1;
    }
  }
  return problem < 0 ? -1 : written;
}
