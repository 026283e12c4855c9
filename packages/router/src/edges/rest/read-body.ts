import type { HttpRequest } from '@millrace/http';
import { type DecompressLimits, decompress, type Packing, requestPackingFrom } from './decompress.ts';

/** The body of a request, unpacked; what it takes of memory is counted as it arrives and as it is unpacked. */
export function readBody(
  http: HttpRequest,
  contentEncoding: string | undefined,
  limits: DecompressLimits,
): Promise<Uint8Array> {
  return readPacked(http, requestPackingFrom(contentEncoding), limits);
}

export async function readPacked(
  http: HttpRequest,
  packing: Packing | undefined,
  limits: DecompressLimits,
): Promise<Uint8Array> {
  const body = await http.body.readAll(limits.bodyBytesMax);
  return packing === undefined ? body : decompress(body, packing, limits, http.memory);
}
