/** Content codings of answers: pieces in, pieces out, nothing joined. */
import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';
import type { Coding } from './accept-encoding.ts';

export interface CompressLimits {
  readonly zlibSyncBytesMax: number;
  readonly compressionLevel: number;
}

/** "deflate" on the web is deflate inside the zlib format. */
const packers = {
  gzip: { now: gzipSync, stream: createGzip },
  deflate: { now: deflateSync, stream: createDeflate },
};

export function compress(
  pieces: readonly Uint8Array[],
  bytes: number,
  coding: Exclude<Coding, 'identity'>,
  limits: CompressLimits,
): Uint8Array | Promise<readonly Uint8Array[]> {
  const { now, stream } = packers[coding];
  const options = { level: limits.compressionLevel };
  if (bytes <= limits.zlibSyncBytesMax) return now(Buffer.concat(pieces, bytes), options);
  return new Promise((resolve, reject) => {
    const packed: Uint8Array[] = [];
    const packer = stream(options);
    packer.on('data', (piece: Uint8Array) => packed.push(piece));
    packer.once('end', () => resolve(packed));
    packer.once('error', reject);
    for (const piece of pieces) packer.write(piece);
    packer.end();
  });
}
