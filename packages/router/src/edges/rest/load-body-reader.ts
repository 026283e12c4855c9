/** Reads bodies of calls that manage models within limits and in slices: JSON, possibly compressed, possibly with files. */
import type { HttpRequest } from '@millrace/http';
import { type FilesOfBody, type LoadBody, readLoadBody } from '../repository/read-load-body.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import { requestPackingFrom } from './decompress.ts';
import { BodyReader, type UnpackingLimits } from './read-body.ts';

export class LoadBodyReader {
  readonly #bodies: BodyReader;
  readonly #slices: SliceQueue;

  constructor(limits: UnpackingLimits, slices: SliceQueue) {
    this.#bodies = new BodyReader(limits, slices);
    this.#slices = slices;
  }

  async read(request: HttpRequest, bytesMax: number, files: FilesOfBody): Promise<LoadBody> {
    const { headers, memory, peer, signal } = request;
    const owner = peer.address;
    const packing = requestPackingFrom(headers.getAll('content-encoding').join(', '));
    const unpacking = packing && { packing, isJson: false, bytesMax, owner, signal };
    const bytes = await this.#bodies.read(request, bytesMax, unpacking);
    const work = readLoadBody(bytes, files, (more) => memory.hold(more));
    return this.#slices.run(work, owner, signal);
  }
}
