import { BodyTooLarge, type HttpRequest } from '@millrace/http';
import type { BodyLease } from './body-budget.ts';
import { type DecompressLimits, decompress, type Packing, requestPackingFrom } from './decompress.ts';

/** The body of a request, unpacked; what it takes of memory is leased before it is there. */
export function readBody(
  http: HttpRequest,
  contentEncoding: string | undefined,
  limits: DecompressLimits,
  lease: BodyLease,
): Promise<Uint8Array> {
  return readPacked(http, requestPackingFrom(contentEncoding), limits, lease);
}

export async function readPacked(
  http: HttpRequest,
  packing: Packing | undefined,
  limits: DecompressLimits,
  lease: BodyLease,
): Promise<Uint8Array> {
  const body = await readWhole(http, limits.bodyBytesMax, lease);
  return packing === undefined ? body : decompress(body, packing, limits, lease);
}

function readWhole({ body }: HttpRequest, bytesMax: number, lease: BodyLease): Promise<Uint8Array> {
  if (body.lengthBytes === undefined) return collect(body, bytesMax, lease);
  if (body.lengthBytes <= bytesMax) lease.grow(body.lengthBytes);
  return body.readAll(bytesMax);
}

async function collect(pieces: AsyncIterable<Uint8Array>, bytesMax: number, lease: BodyLease): Promise<Uint8Array> {
  const collected: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw new BodyTooLarge(bytesMax);
    lease.grow(piece.byteLength);
    collected.push(piece);
  }
  return Buffer.concat(collected, bytes);
}
