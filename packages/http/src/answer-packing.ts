/** Compresses answers: small ones at once, larger ones on threads of the system, a few at a time and owners in turn. */
import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';
import type { CancelSignal } from '@millrace/protocol';
import { CallerGone } from './exchange.ts';
import { TurnGate } from './wire/turn-gate.ts';

export type Compression = 'gzip' | 'deflate';

export interface AnswerPackingLimits {
  /** Up to this size an answer may be compressed at once. */
  readonly syncBytesMax: number;
  /** Larger ones that are compressed at the same time; others wait. */
  readonly packingsMax: number;
  /** 1 is fastest, 9 smallest. */
  readonly compressionLevel: number;
}

/** Whose answer it is, and who says that nobody wants it any more. */
export interface PackedFor {
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

export class AnswerPacking {
  readonly #syncBytesMax: number;
  readonly #options: { readonly level: number; readonly chunkSize: number };
  readonly #gate: TurnGate;

  constructor({ syncBytesMax, packingsMax, compressionLevel }: AnswerPackingLimits) {
    this.#syncBytesMax = syncBytesMax;
    this.#options = { level: compressionLevel, chunkSize: pieceBytes };
    this.#gate = new TurnGate(packingsMax);
  }

  /** Whether an answer of so many bytes is compressed at once. */
  isQuick(bytes: number): boolean {
    return bytes <= this.#syncBytesMax;
  }

  packNow(pieces: readonly Uint8Array[], bytes: number, compression: Compression): Uint8Array {
    const whole = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, bytes);
    return packers[compression].now(whole, this.#options);
  }

  /** Off the event loop; pieces in, pieces out, nothing joined. Rejects with `CallerGone` where nobody waits any more. */
  packLater(
    pieces: readonly Uint8Array[],
    compression: Compression,
    { owner, signal }: PackedFor,
  ): Promise<readonly Uint8Array[]> {
    const pack = (): Promise<readonly Uint8Array[]> =>
      new Promise((resolve, reject) => {
        const packed: Uint8Array[] = [];
        const packer = packers[compression].stream(this.#options);
        const stopListening = signal.onCancel(() => packer.destroy(new CallerGone()));
        packer.on('data', (piece: Uint8Array) => packed.push(piece));
        packer.once('end', () => {
          stopListening();
          resolve(packed);
        });
        packer.once('error', (error) => {
          stopListening();
          reject(error);
        });
        for (const piece of pieces) packer.write(piece);
        packer.end();
      });
    return this.#gate.pass(owner, signal, pack);
  }
}
