import type { HttpRequest } from '@millrace/http';
import { decompress, type Unpacking, type UnpackingParts } from './decompress.ts';

/** The body of a request, unpacked; what it takes of memory is counted as it arrives and as it is unpacked. */
export async function readBody(
  { body, memory }: HttpRequest,
  bytesMax: number,
  unpacking: Unpacking | undefined,
  parts: UnpackingParts,
): Promise<Uint8Array> {
  const whole = await body.readAll(bytesMax);
  return unpacking === undefined ? whole : decompress(whole, unpacking, parts, memory);
}
