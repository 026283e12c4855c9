/**
 * Compresses answers: small ones at once, larger ones on the thread pool, a few at a time, with owners taking turns.
 */
import { createDeflate, createGzip, deflateSync, gzipSync } from 'node:zlib';
import type { CancelSignal } from '@millrace/protocol';
import { CallerGone } from './exchange.ts';
import { TurnGate } from './wire/turn-gate.ts';

export type Compression = 'gzip' | 'deflate';

export interface AnswerPackingLimits {
  /** Up to this size an answer may be compressed synchronously. */
  readonly syncBytesMax: number;
  /** How many larger answers are compressed at the same time; others wait. */
  readonly packingsMax: number;
  /** 1 is fastest, 9 smallest. */
  readonly compressionLevel: number;
}

/** Whose answer it is, and the signal that fires when nobody waits for it any more. */
export interface PackedFor {
  readonly owner: string;
  readonly signal: CancelSignal;
}

/** "deflate" on the web is deflate inside the zlib format. */
const packers = {
  gzip: { now: gzipSync, stream: createGzip },
  deflate: { now: deflateSync, stream: createDeflate },
};

/** Size of the pieces that the compressing thread returns. */
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

  /** Whether an answer of this many bytes is compressed synchronously. */
  isQuick(bytes: number): boolean {
    return bytes <= this.#syncBytesMax;
  }

  packNow(pieces: readonly Uint8Array[], bytes: number, compression: Compression): Uint8Array {
    const whole = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, bytes);
    return packers[compression].now(whole, this.#options);
  }

  /** Compresses off the event loop, piece by piece and without joining. Rejects with `CallerGone` once nobody waits. */
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
