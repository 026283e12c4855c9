/**
 * Bytes in memory of their own, for what is kept beyond the request it came with: a view would keep alive, and change
 * with, all of the memory it lies in. `slice` copies too, but not of a Buffer; see types/byte-slices.d.ts.
 */
export function copyOf(bytes: Uint8Array, from = 0, to: number = bytes.length): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes.subarray(from, to));
}

/**
 * The same text in memory of its own, for what is kept beyond its request: a part of a string is a view of it too, so a
 * header value of 20 characters keeps all of its head alive.
 */
export function copyOfText(text: string): string {
  return text.split('').join('');
}
