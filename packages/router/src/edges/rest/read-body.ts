import { type HttpRequest, TurnGate } from '@millrace/http';
import type { SliceQueue } from '../slices/slice-queue.ts';
import { type BodyUnpacking, decompressBody, type UnpackingParts } from './decompress.ts';

export interface UnpackingLimits {
  /** Up to this size a body is decompressed at once. */
  readonly zlibSyncBytesMax: number;
  /** Larger bodies that are decompressed at the same time; others wait. */
  readonly unpackingsMax: number;
}

/** Reads the bodies of one edge, whose decompressions take turns. */
export class BodyReader {
  readonly #parts: UnpackingParts;

  constructor({ zlibSyncBytesMax, unpackingsMax }: UnpackingLimits, slices: SliceQueue) {
    this.#parts = { zlibSyncBytesMax, gate: new TurnGate(unpackingsMax), slices };
  }

  /** The decompressed body of a request; its memory is counted as it arrives and as it is decompressed. */
  async read(
    { body, memory }: HttpRequest,
    bytesMax: number,
    unpacking: BodyUnpacking | undefined,
  ): Promise<Uint8Array> {
    const whole = await body.readAll(bytesMax);
    return unpacking === undefined ? whole : decompressBody(whole, unpacking, this.#parts, memory);
  }
}
