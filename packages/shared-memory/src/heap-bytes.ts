/** Up to here clearing memory costs less than asking for memory that is not cleared. */
const clearedBytesMax = 4096;

/** Ordinary memory whose content does not matter, aligned for every element type. */
export function heapBytes(bytes: number): Uint8Array {
  if (bytes <= clearedBytesMax) return new Uint8Array(bytes);
  const buffer = Buffer.allocUnsafeSlow(bytes);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, bytes);
}
