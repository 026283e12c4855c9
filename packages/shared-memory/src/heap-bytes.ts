/** Up to this size, allocating cleared memory costs less than allocating uncleared memory. */
const clearedBytesMax = 4096;

/** Ordinary memory with arbitrary content, aligned for every element type. */
export function heapBytes(bytes: number): Uint8Array {
  if (bytes <= clearedBytesMax) return new Uint8Array(bytes);
  const buffer = Buffer.allocUnsafeSlow(bytes);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, bytes);
}
