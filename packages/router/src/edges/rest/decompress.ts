/** Content codings of requests. A body is never decompressed beyond the limit. */
import { createGunzip, createInflate, gunzipSync, inflateSync } from 'node:zlib';
import { MemoryRefused, type RequestMemory, type TurnGate } from '@millrace/http';
import { type CancelSignal, InferenceError, quote } from '@millrace/protocol';
import { joinPieces } from '../slices/join-pieces.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';

const unpackers = {
  gzip: { now: gunzipSync, stream: createGunzip },
  deflate: { now: inflateSync, stream: createInflate },
};

export type Packing = keyof typeof unpackers;

/** The packing a `content-encoding` field names; nothing for none. Any other is an `unsupported-media`. */
export function requestPackingFrom(contentEncoding: string | undefined): Packing | undefined {
  if (contentEncoding === undefined) return undefined;
  switch (contentEncoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
      return 'deflate';
    default:
      throw new InferenceError(
        'unsupported-media',
        `unsupported Content-Encoding ${quote(contentEncoding)}: send the request as gzip, deflate or identity`,
      );
  }
}

/** How a body is unpacked, for whom, and how far. */
export interface BodyUnpacking {
  readonly packing: Packing;
  /** The body is JSON and nothing else, which has a limit of its own. */
  readonly isJson: boolean;
  readonly bytesMax: number;
  readonly owner: string;
  readonly signal: CancelSignal;
}

/** Shared by all decompressions of an edge. */
export interface UnpackingParts {
  /** Up to this size a body is unpacked at once. */
  readonly zlibSyncBytesMax: number;
  readonly gate: TurnGate;
  readonly slices: SliceQueue;
}

/**
 * How far a small body may expand on the event loop; expanded a thousandfold it could otherwise block it for tens of
 * milliseconds.
 */
const syncExpansionMax = 16;
/** Every body may expand to this size at once. */
const syncBytesMin = 4096;

/** Pieces of this size come back from the thread that unpacks. */
const pieceBytes = 64 * 1024;

export async function decompressBody(
  packed: Uint8Array,
  unpacking: BodyUnpacking,
  { zlibSyncBytesMax, gate, slices }: UnpackingParts,
  memory: RequestMemory,
): Promise<Uint8Array> {
  const { packing, bytesMax, owner, signal } = unpacking;
  if (packed.byteLength <= zlibSyncBytesMax) {
    const maxOutputLength = Math.min(bytesMax, Math.max(syncBytesMin, packed.byteLength * syncExpansionMax));
    try {
      const body = unpackers[packing].now(packed, { maxOutputLength });
      memory.hold(body.byteLength);
      return body;
    } catch (error) {
      if (!isOverLength(error)) throw refusalFrom(error, packing);
    }
  }
  const pieces = await gate.pass(owner, signal, () => unpack(packed, unpacking, memory));
  return slices.run(joinPieces(pieces), owner, signal);
}

/** On threads of the system, a piece at a time: the event loop is free between them. */
function unpack(packed: Uint8Array, unpacking: BodyUnpacking, memory: RequestMemory): Promise<Uint8Array[]> {
  const { packing, bytesMax, signal } = unpacking;
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const unpacker = unpackers[packing].stream({ chunkSize: pieceBytes });
    const stopListening = signal.onCancel(() => fail(new InferenceError('cancelled', 'the caller went away')));
    const fail = (error: unknown): void => {
      stopListening();
      pieces.length = 0;
      reject(error);
      unpacker.destroy();
    };
    unpacker.on('data', (piece: Uint8Array) => {
      bytes += piece.byteLength;
      try {
        if (bytes > bytesMax) throw tooLarge(unpacking);
        memory.hold(piece.byteLength);
        pieces.push(piece);
      } catch (error) {
        fail(error);
        return;
      }
      // Waiting here would block the other bodies.
      if (memory.isWaiting) fail(new MemoryRefused());
    });
    unpacker.once('end', () => {
      stopListening();
      resolve(pieces);
    });
    unpacker.once('error', (error) => fail(refusalFrom(error, packing)));
    unpacker.end(packed);
  });
}

function isOverLength(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function tooLarge({ isJson, bytesMax }: BodyUnpacking): InferenceError {
  return new InferenceError(
    'request-too-large',
    isJson
      ? `the JSON of the request is larger than ${bytesMax} bytes when decompressed; send tensors as binary data, or raise http.jsonBytesMax`
      : `the request body is larger than ${bytesMax} bytes when decompressed; send a smaller one, or raise http.bodyBytesMax`,
  );
}

function refusalFrom(error: unknown, packing: Packing): InferenceError | MemoryRefused {
  if (error instanceof InferenceError || error instanceof MemoryRefused) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new InferenceError(
    'invalid-request',
    `the request body is not valid ${packing} data (${reason}), although Content-Encoding says so`,
  );
}
