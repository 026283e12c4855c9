/** Content codings of requests. Whatever a body claims to unpack to, no more than the limit is ever unpacked. */
import { promisify } from 'node:util';
import { gunzip, gunzipSync, inflate, inflateSync } from 'node:zlib';
import { InferenceError } from '@millrace/protocol';

const unpackers = {
  gzip: { now: gunzipSync, later: promisify<Buffer | Uint8Array, { maxOutputLength: number }, Buffer>(gunzip) },
  deflate: { now: inflateSync, later: promisify<Buffer | Uint8Array, { maxOutputLength: number }, Buffer>(inflate) },
};

type Packing = keyof typeof unpackers;

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

export async function decompress(packed: Uint8Array, packing: Packing, limits: DecompressLimits): Promise<Uint8Array> {
  const { now, later } = unpackers[packing];
  if (packed.byteLength <= limits.zlibSyncBytesMax) {
    const maxOutputLength = Math.min(limits.bodyBytesMax, Math.max(1, limits.zlibSyncBytesMax * syncExpansionMax));
    try {
      return now(packed, { maxOutputLength });
    } catch (error) {
      if (!isOverLength(error)) throw refusalFrom(error, packing, limits);
    }
  }
  try {
    return await later(packed, { maxOutputLength: limits.bodyBytesMax });
  } catch (error) {
    throw refusalFrom(error, packing, limits);
  }
}

function isOverLength(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function refusalFrom(error: unknown, packing: Packing, { bodyBytesMax }: DecompressLimits): InferenceError {
  if (isOverLength(error)) {
    return new InferenceError(
      'request-too-large',
      `the request body is larger than ${bodyBytesMax} bytes when decompressed; send a smaller one`,
    );
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new InferenceError(
    'invalid-request',
    `the request body is not valid ${packing} data (${reason}), although Content-Encoding says so`,
  );
}
