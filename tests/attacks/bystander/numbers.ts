/** Tensors that a bystander sends, and what must come back. */
export function doubled(values: Float32Array): Buffer {
  const twice = values.map((value) => value * 2);
  return Buffer.from(twice.buffer, twice.byteOffset, twice.byteLength);
}

/** What is wrong with the answer, if anything is. */
export function sameBytes(answer: Uint8Array, expected: Buffer): string | undefined {
  if (answer.length !== expected.length) return `${answer.length} bytes instead of ${expected.length}`;
  return expected.equals(answer) ? undefined : 'a value differs';
}

/** Different for every seed, and exact when doubled. */
export function tensorOf(length: number, seed: number): Float32Array {
  return Float32Array.from({ length }, (_, index) => ((index * 31 + seed * 17) % 65_521) / 8);
}
