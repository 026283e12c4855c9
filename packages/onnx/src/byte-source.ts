import type { FileHandle } from 'node:fs/promises';

/** Bytes that can be read from any position: a file of any size, or memory in tests. */
export interface ByteSource {
  readonly sizeBytes: number;
  /** Fills `into` from `position` and returns how many bytes there were; fewer than requested only at the end. */
  readAt(position: number, into: Uint8Array): Promise<number>;
}

export function byteSourceFromFile(file: FileHandle, sizeBytes: number): ByteSource {
  return {
    sizeBytes,
    async readAt(position, into) {
      let filled = 0;
      while (filled < into.length) {
        const { bytesRead } = await file.read(into, filled, into.length - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return filled;
    },
  };
}

export function byteSourceFromBytes(bytes: Uint8Array): ByteSource {
  return {
    sizeBytes: bytes.length,
    readAt(position, into) {
      const part = bytes.subarray(position, position + into.length);
      into.set(part);
      return Promise.resolve(part.length);
    },
  };
}
