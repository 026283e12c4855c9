/** Values as tensors carry them. */

export function floats(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

export function int64(value: bigint): Uint8Array {
  return new Uint8Array(BigInt64Array.of(value).buffer);
}

export function texts(...values: readonly (string | Uint8Array)[]): Uint8Array {
  const parts = values.map((value) => Buffer.from(value as string));
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(part.length);
      return [length, part];
    }),
  );
}
