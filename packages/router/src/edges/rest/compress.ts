/** Content codings of answers: pieces in, pieces out, nothing joined. */
import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';
import type { CancelSignal } from '@millrace/protocol';
import type { TurnGate } from '../slices/turn-gate.ts';
import type { Coding } from './accept-encoding.ts';

export interface CompressLimits {
  readonly zlibSyncBytesMax: number;
  readonly compressionLevel: number;
}

/** Whose answer it is, and where it waits for its turn off the event loop. */
export interface AnswerPacking {
  readonly coding: Exclude<Coding, 'identity'>;
  readonly gate: TurnGate;
  readonly owner: string;
  readonly signal: CancelSignal;
}

/** "deflate" on the web is deflate inside the zlib format. */
const packers = {
  gzip: { now: gzipSync, stream: createGzip },
  deflate: { now: deflateSync, stream: createDeflate },
};

/** Pieces of this size come back from the thread that compresses. */
const pieceBytes = 64 * 1024;

export function compress(
  pieces: readonly Uint8Array[],
  bytes: number,
  { coding, gate, owner, signal }: AnswerPacking,
  limits: CompressLimits,
): Uint8Array | Promise<readonly Uint8Array[]> {
  const { now, stream } = packers[coding];
  const options = { level: limits.compressionLevel, chunkSize: pieceBytes };
  if (bytes <= limits.zlibSyncBytesMax) return now(Buffer.concat(pieces, bytes), options);
  const pack = (): Promise<readonly Uint8Array[]> =>
    new Promise((resolve, reject) => {
      const packed: Uint8Array[] = [];
      const packer = stream(options);
      const stopListening = signal.onCancel(() => packer.destroy(new Error('the caller went away')));
      packer.on('data', (piece: Uint8Array) => packed.push(piece));
      packer.once('end', () => {
        stopListening();
        resolve(packed);
      });
      packer.once('error', reject);
      for (const piece of pieces) packer.write(piece);
      packer.end();
    });
  return gate.pass(owner, signal, pack);
}
