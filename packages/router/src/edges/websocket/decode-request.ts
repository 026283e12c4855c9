/** Messages of a client as frames: text in JSON, binary in protobuf. */
import { InferenceError, type StreamClientFrame } from '@millrace/protocol';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import { defaultStreamFrameLimits } from '../streams/frame-limits.ts';
import { StreamFrameReader } from '../streams/read-frame.ts';
import { FrameJsonReader } from '../streams/read-frame-json.ts';
import { jsonSubprotocol, protoSubprotocol } from './subprotocols.ts';

const protoReader = new StreamFrameReader(defaultStreamFrameLimits);
const jsonReader = new FrameJsonReader(defaultStreamFrameLimits);

/** Whether it is to be read in slices. */
export function isLongMessage(data: Uint8Array, isBinary: boolean): boolean {
  return !isBinary && data.length > sliceBytes;
}

export function* decodeSocketMessage(
  data: Uint8Array,
  isBinary: boolean,
  subprotocol: string,
): SliceGenerator<StreamClientFrame> {
  if (isBinary !== (subprotocol === protoSubprotocol)) throw wrongKind(isBinary);
  return isBinary ? protoReader.readClientFrame(data) : yield* jsonReader.readClientFrame(data);
}

function wrongKind(isBinary: boolean): InferenceError {
  return new InferenceError(
    'invalid-request',
    isBinary
      ? `a binary message on ${jsonSubprotocol}; send text, or connect with ${protoSubprotocol}`
      : `a text message on ${protoSubprotocol}; send binary, or connect with ${jsonSubprotocol}`,
  );
}
