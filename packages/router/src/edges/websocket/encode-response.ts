/** Frames for a client as messages: text in JSON, binary in protobuf. */
import type { StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { joinPieces } from '../slices/join-pieces.ts';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import { encodeLinkFrame, serverFrameOf } from '../streams/link-frame.ts';
import { writeFrameJson } from '../streams/write-frame-json.ts';
import { protoSubprotocol } from './subprotocols.ts';

/** A number in JSON has about twice as many bytes as it has in a tensor. */
const payloadBytesMax = sliceBytes / 2;

/** Bytes of the frame's payload, as the journal holds it. */
export function payloadBytesOf(frame: StreamLinkFrame): number {
  return frame.kind === 'output' ? (frame.payload?.length ?? 0) : 0;
}

/** Whether it is to be written in slices. */
export function isLongFrame(frame: StreamLinkFrame, subprotocol: string): boolean {
  return subprotocol !== protoSubprotocol && payloadBytesOf(frame) > payloadBytesMax;
}

export function* encodeSocketMessage(frame: StreamLinkFrame, subprotocol: string): SliceGenerator<Uint8Array> {
  return subprotocol === protoSubprotocol
    ? yield* joinPieces([...encodeLinkFrame(frame)])
    : yield* writeFrameJson(serverFrameOf(frame));
}
