import type { HttpRequest, RequestBody } from '@millrace/http';
import type { BodyLease } from './body-budget.ts';
import { type DecompressLimits, decompress, type Packing, requestPackingFrom } from './decompress.ts';

/** The body of a request, unpacked; what it takes of memory is leased as it arrives. */
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
  const body = await readWhole(http.body, limits.bodyBytesMax, lease);
  return packing === undefined ? body : decompress(body, packing, limits, lease);
}

function readWhole(body: RequestBody, bytesMax: number, lease: BodyLease): Promise<Uint8Array> {
  lease.checkRoomFor(body.lengthBytes ?? 0, bytesMax);
  return new Promise((resolve, reject) => {
    body.giveAll(bytesMax, { onBodyBytes: (bytes) => lease.grow(bytes), onBody: resolve, onBodyFailed: reject });
  });
}
