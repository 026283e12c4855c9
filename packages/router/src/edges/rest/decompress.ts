/** Content codings of requests. Whatever a body claims to unpack to, no more than the limit is ever unpacked. */
import { createGunzip, createInflate, gunzipSync, inflateSync } from 'node:zlib';
import { MemoryRefused, type RequestMemory } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';

const unpackers = {
  gzip: { now: gunzipSync, stream: createGunzip },
  deflate: { now: inflateSync, stream: createInflate },
};

export type Packing = keyof typeof unpackers;

/** The packing a `content-encoding` field names; nothing for none. Any other is an `unsupported-media`. */
export function requestPackingFrom(contentEncoding: string | undefined): Packing | undefined {
  switch (contentEncoding?.trim().toLowerCase()) {
    case undefined:
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
        `unsupported Content-Encoding '${contentEncoding}': send the request as gzip, deflate or identity`,
      );
  }
}

export interface DecompressLimits {
  readonly bodyBytesMax: number;
  readonly zlibSyncBytesMax: number;
}

/**
 * How far a small body may unpack on the event loop; at a thousandfold it could otherwise hold everyone up for tens of
 * milliseconds.
 */
const syncExpansionMax = 16;

/** Pieces of this size come back from the thread that unpacks. */
const pieceBytes = 64 * 1024;

export async function decompress(
  packed: Uint8Array,
  packing: Packing,
  limits: DecompressLimits,
  memory: RequestMemory,
): Promise<Uint8Array> {
  if (packed.byteLength <= limits.zlibSyncBytesMax) {
    const maxOutputLength = Math.min(limits.bodyBytesMax, Math.max(1, limits.zlibSyncBytesMax * syncExpansionMax));
    try {
      const body = unpackers[packing].now(packed, { maxOutputLength });
      memory.hold(body.byteLength);
      return body;
    } catch (error) {
      if (!isOverLength(error)) throw refusalFrom(error, packing);
    }
  }
  return decompressLater(packed, packing, limits.bodyBytesMax, memory);
}

function decompressLater(
  packed: Uint8Array,
  packing: Packing,
  bodyBytesMax: number,
  memory: RequestMemory,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const unpacker = unpackers[packing].stream({ chunkSize: pieceBytes });
    const fail = (error: unknown): void => {
      reject(error);
      unpacker.destroy();
    };
    unpacker.on('data', (piece: Uint8Array) => {
      bytes += piece.byteLength;
      try {
        if (bytes > bodyBytesMax) throw tooLarge(bodyBytesMax);
        memory.hold(piece.byteLength);
        pieces.push(piece);
      } catch (error) {
        fail(error);
        return;
      }
      unpacker.pause();
      memory.ready().then(() => unpacker.resume(), fail);
    });
    unpacker.once('end', () => resolve(Buffer.concat(pieces, bytes)));
    unpacker.once('error', (error) => reject(refusalFrom(error, packing)));
    unpacker.end(packed);
  });
}

function isOverLength(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function tooLarge(bodyBytesMax: number): InferenceError {
  return new InferenceError(
    'request-too-large',
    `the request body is larger than ${bodyBytesMax} bytes when decompressed; send a smaller one`,
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
