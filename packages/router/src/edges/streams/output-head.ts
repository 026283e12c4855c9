/**
 * Encodes outputs of one small tensor for the journal. They mostly differ in their elements only: what stands before these is
 * remembered instead of being written again for every output. What it gives is what `encodeOutput` gives.
 */
import type { StreamPayload, StreamToken, Tensor } from '@millrace/protocol';
import { encodeOutput } from './write-frame.ts';

interface KnownHead {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly dataBytes: number;
  readonly head: Uint8Array;
}

/** Larger outputs are copied no faster so, and would leave much of a slab unused. */
const dataBytesMax = 1024;
/** Outputs share the memory of a slab, which is kept for as long as one of them is: as small as that of Node's buffers. */
const slabBytes = 8192;

export class OutputHead {
  #known: KnownHead | undefined;
  #slab = new ArrayBuffer(slabBytes);
  #slabEnd = 0;

  encode(payload: StreamPayload | StreamToken): Uint8Array {
    if (payload.kind !== 'tensors' || payload.tensors.length !== 1) return encoded(payload);
    const tensor = payload.tensors[0] as Tensor;
    const known = this.#known;
    if (known !== undefined && isLike(tensor, known)) return this.#joined(known.head, tensor.data);
    const bytes = encoded(payload);
    this.#known = knownHeadFrom(tensor, bytes);
    return bytes;
  }

  #joined(head: Uint8Array, data: Uint8Array): Uint8Array {
    const bytes = this.#lend(head.length + data.length);
    // Byte by byte: a head is short, and a call for it would cost more.
    for (let at = 0; at < head.length; at++) bytes[at] = head[at] as number;
    bytes.set(data, head.length);
    return bytes;
  }

  #lend(bytes: number): Uint8Array {
    if (this.#slabEnd + bytes > slabBytes) {
      this.#slab = new ArrayBuffer(slabBytes);
      this.#slabEnd = 0;
    }
    const begin = this.#slabEnd;
    this.#slabEnd += bytes;
    return new Uint8Array(this.#slab, begin, bytes);
  }
}

function encoded(payload: StreamPayload | StreamToken): Uint8Array {
  return encodeOutput({ kind: 'output', sequence: 0, inputSequence: 0, payload, endOfOutput: false });
}

/** Undefined for a tensor without elements, or with many: the elements of others are their last bytes. */
function knownHeadFrom({ name, datatype, shape, data }: Tensor, bytes: Uint8Array): KnownHead | undefined {
  if (data.length === 0 || data.length > dataBytesMax) return undefined;
  const head = new Uint8Array(bytes.subarray(0, bytes.length - data.length));
  return { name, datatype, shape: [...shape], dataBytes: data.length, head };
}

function isLike({ name, datatype, shape, data }: Tensor, known: KnownHead): boolean {
  if (data.length !== known.dataBytes || datatype !== known.datatype || name !== known.name) return false;
  if (shape.length !== known.shape.length) return false;
  for (let axis = 0; axis < shape.length; axis++) if (shape[axis] !== known.shape[axis]) return false;
  return true;
}
