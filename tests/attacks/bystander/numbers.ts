/** Tensors that a bystander sends, and what must come back. */
export function doubled(values: Float32Array): Buffer {
  const twice = new Float32Array(values.length);
  for (let at = 0; at < values.length; at++) twice[at] = (values[at] as number) * 2;
  return Buffer.from(twice.buffer, twice.byteOffset, twice.byteLength);
}

/** What is wrong with the answer, if anything is. */
export function sameBytes(answer: Uint8Array, expected: Buffer): string | undefined {
  if (answer.length !== expected.length) return `${answer.length} bytes instead of ${expected.length}`;
  return expected.equals(answer) ? undefined : 'a value differs';
}

/** Different for every seed, and exact when doubled. In a plain loop: what holds up the bystander would count as the server's latency. */
export function tensorOf(length: number, seed: number): Float32Array {
  const values = new Float32Array(length);
  for (let at = 0; at < length; at++) values[at] = ((at * 31 + seed * 17) % 65_521) / 8;
  return values;
}
