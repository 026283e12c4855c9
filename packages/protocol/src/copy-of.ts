/**
 * Copies bytes that are kept beyond the request they came with: a view would keep all of the underlying memory alive,
 * and change with it. `slice` copies too, but not for a Buffer; see types/byte-slices.d.ts.
 */
export function copyOf(bytes: Uint8Array, from = 0, to: number = bytes.length): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(from, to));
}

/**
 * Copies text that is kept beyond its request: a substring is a view of its string too, so a header value of 20
 * characters keeps its whole request head alive.
 */
export function copyOfText(text: string): string {
  return text.split('').join('');
}
