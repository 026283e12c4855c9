/**
 * The number that a `content-length` declares, or undefined if it is not plain digits or too large to count exactly.
 */
export function contentLengthFrom(value: string): number | undefined {
  if (value.length === 0 || value.length > 15) return undefined;
  let length = 0;
  for (let at = 0; at < value.length; at++) {
    const digit = value.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return undefined;
    length = length * 10 + digit;
  }
  return length;
}
