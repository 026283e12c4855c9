/** Journaled outputs as tensors. Streams of other edges may hold other payloads. */
import type { StreamPayload, StreamToken, Tensor } from '@millrace/protocol';
import { payloadCodec } from '../streams/link-frame.ts';

/** The name that generators, Triton's too, give their text. */
export const textOutputName = 'text_output';

/** `payload`: as it is journaled; undefined: none. */
export function outputTensorsOf(payload: Uint8Array | undefined): readonly Tensor[] {
  return payload === undefined ? [] : tensorsFrom(payloadCodec.decodeOutput(payload));
}

function tensorsFrom(payload: StreamPayload | StreamToken): readonly Tensor[] {
  switch (payload.kind) {
    case 'none':
      return [];
    case 'tensors':
      return payload.tensors;
    case 'text':
    case 'token':
      return [bytesTensor(Buffer.from(payload.text))];
    case 'bytes':
      return [bytesTensor(payload.bytes)];
  }
}

function bytesTensor(bytes: Uint8Array): Tensor {
  const data = Buffer.allocUnsafe(4 + bytes.length);
  data.writeUInt32LE(bytes.length, 0);
  data.set(bytes, 4);
  return { name: textOutputName, datatype: 'BYTES', shape: [1], data };
}
