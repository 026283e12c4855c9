/** 32-bit integers at any byte offset, where a typed array would need alignment and a DataView an object. */

export function writeUint32(into: Uint8Array, offset: number, value: number): void {
  into[offset] = value;
  into[offset + 1] = value >>> 8;
  into[offset + 2] = value >>> 16;
  into[offset + 3] = value >>> 24;
}

export function readUint32(data: Uint8Array, offset: number): number {
  return (
    ((data[offset] as number) |
      ((data[offset + 1] as number) << 8) |
      ((data[offset + 2] as number) << 16) |
      ((data[offset + 3] as number) << 24)) >>>
    0
  );
}
