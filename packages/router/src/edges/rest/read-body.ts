import type { HttpRequest, RequestBody } from '@millrace/http';
import type { BodyLease } from './body-budget.ts';
import { decompress, type Unpacking, type UnpackingParts } from './decompress.ts';

/** The body of a request, unpacked; what it takes of memory is leased as it arrives. */
export async function readBody(
  { body }: HttpRequest,
  bytesMax: number,
  unpacking: Unpacking | undefined,
  parts: UnpackingParts,
  lease: BodyLease,
): Promise<Uint8Array> {
  const whole = await readWhole(body, bytesMax, lease);
  return unpacking === undefined ? whole : decompress(whole, unpacking, parts, lease);
}

function readWhole(body: RequestBody, bytesMax: number, lease: BodyLease): Promise<Uint8Array> {
  lease.checkRoomFor(body.lengthBytes ?? 0, bytesMax);
  return new Promise((resolve, reject) => {
    body.giveAll(bytesMax, { onBodyBytes: (bytes) => lease.grow(bytes), onBody: resolve, onBodyFailed: reject });
  });
}
