/**
 * Frames of the stream host on the wire. An output is journaled as the fields of its payload; its sequence and end are put
 * around them when it is sent, so the bytes of a resumed output are those of the first time.
 */
import type { StreamServerFrame } from '@millrace/protocol';
import type { PayloadCodec } from '../../streams/payload-codec.ts';
import type { EncodedOutput, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { numberFieldBytes, ProtoWriter, varintBytes } from '../protobuf/proto-writer.ts';
import { delimitedTag, varintTag } from './field-cursor.ts';
import { defaultStreamFrameLimits } from './frame-limits.ts';
import { OutputHead } from './output-head.ts';
import { StreamFrameReader } from './read-frame.ts';
import { encodeInput, encodeServerFrame } from './write-frame.ts';

/** Of what this server wrote itself, so that nothing of it is too large. */
const journalReader = new StreamFrameReader({
  ...defaultStreamFrameLimits,
  frameBytesMax: Number.MAX_SAFE_INTEGER,
  textBytesMax: Number.MAX_SAFE_INTEGER,
  tensorsMax: Number.MAX_SAFE_INTEGER,
});

const outputHead = new OutputHead();

export const payloadCodec: PayloadCodec = {
  encodeInput: (payload) => encodeInput({ kind: 'input', sequence: 1, payload, endOfInput: false }),
  decodeInput: (bytes) => journalReader.readInput(bytes).payload,
  encodeOutput: (payload) => outputHead.encode(payload),
  decodeOutput: (bytes) => journalReader.readOutput(bytes).payload,
};

const outputFrameField = 3;
const endOfOutputBytes = new Uint8Array([varintTag(7), 1]);

/** The message `Output`, in pieces. */
export function encodedOutputMessage(output: EncodedOutput): readonly Uint8Array[] {
  return outputPieces(output, false);
}

/** The message `ServerFrame`, in pieces. */
export function encodeLinkFrame(frame: StreamLinkFrame): readonly Uint8Array[] {
  return frame.kind === 'output' ? outputPieces(frame, true) : encodeServerFrame(frame);
}

function outputPieces(output: EncodedOutput, isFramed: boolean): readonly Uint8Array[] {
  const { sequence, inputSequence, payload, endOfOutput } = output;
  const headBytes = numberFieldBytes(sequence) + numberFieldBytes(inputSequence);
  const messageBytes = headBytes + (payload?.length ?? 0) + (endOfOutput ? endOfOutputBytes.length : 0);
  const head = new ProtoWriter(headBytes + (isFramed ? 1 + varintBytes(messageBytes) : 0));
  if (isFramed) head.prefix(delimitedTag(outputFrameField), messageBytes);
  head.number(varintTag(1), sequence);
  head.number(varintTag(2), inputSequence);
  const pieces = [head.cut()];
  if (payload !== undefined) pieces.push(payload);
  if (endOfOutput) pieces.push(endOfOutputBytes);
  return pieces;
}

/** The frame with its payload decoded, for JSON. */
export function serverFrameOf(frame: StreamLinkFrame): StreamServerFrame {
  if (frame.kind !== 'output') return frame;
  const { payload, ...rest } = frame;
  return { ...rest, payload: payload === undefined ? { kind: 'none' } : payloadCodec.decodeOutput(payload) };
}
