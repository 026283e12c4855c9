/** Frames of every kind with values at the edges of their ranges, and the messages of the generated code for the same. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type Datatype,
  datatypes,
  type ErrorCode,
  encodeBytesElements,
  errorCatalogue,
  type InputFrame,
  type JsonObject,
  type OpenFrame,
  type OutputFrame,
  openModes,
  type StreamClientFrame,
  type StreamCredit,
  type StreamPayload,
  type StreamServerFrame,
  type StreamToken,
  streamOutcomes,
  type Tensor,
} from '@millrace/protocol';
import fc from 'fast-check';
import {
  type ClientFrame,
  ClientFrameSchema,
  type InputSchema,
  type OutputSchema,
  type ServerFrame,
  ServerFrameSchema,
} from '../../../proto/generated/millrace/v1/inference_pb.ts';

const natural = fc.oneof(fc.nat(300), fc.maxSafeNat(), fc.constant(Number.MAX_SAFE_INTEGER));
const sequence = natural.map((value) => Math.max(1, value));
const uint32 = fc.oneof(fc.nat(300), fc.constant(2 ** 32 - 1), fc.nat(2 ** 31 - 1));
// Decoders of some languages take a byte order mark away, the generated code among them.
const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((value) => !value.startsWith('\ufeff'));
const smallBytes = fc.uint8Array({ maxLength: 200 });
const credit = fc.option(fc.record({ messages: uint32, bytes: natural }), { nil: undefined });

const anyTensor: fc.Arbitrary<Omit<Tensor, 'name'>> = fc
  .tuple(fc.constantFrom(...(Object.keys(datatypes) as Datatype[])), fc.array(fc.nat(4), { maxLength: 3 }), fc.nat())
  .chain(([datatype, shape]) => {
    const count = shape.reduce((product, dimension) => product * dimension, 1);
    const size = datatypes[datatype].bytes;
    const data =
      size === undefined
        ? fc
            .array(fc.oneof(text, fc.uint8Array({ maxLength: 8 })), { minLength: count, maxLength: count })
            .map((elements) => encodeBytesElements(elements))
        : fc.uint8Array({ minLength: count * size, maxLength: count * size });
    return data.map((bytes) => ({
      datatype,
      shape,
      data: datatype === 'BOOL' ? bytes.map((byte) => byte & 1) : bytes,
    }));
  });

const tensors = fc
  .array(anyTensor, { minLength: 1, maxLength: 3 })
  .map((list) => list.map((tensor, index): Tensor => ({ name: `tensor ${index}`, ...tensor })));

const payload: fc.Arbitrary<StreamPayload> = fc.oneof(
  fc.constant<StreamPayload>({ kind: 'none' }),
  tensors.map((list): StreamPayload => ({ kind: 'tensors', tensors: list })),
  text.map((value): StreamPayload => ({ kind: 'text', text: value })),
  smallBytes.map((bytes): StreamPayload => ({ kind: 'bytes', bytes })),
);
const token: fc.Arbitrary<StreamToken> = fc.record({ kind: fc.constant('token'), id: uint32, text });

export const anyInput: fc.Arbitrary<InputFrame> = fc.record({
  kind: fc.constant('input'),
  sequence,
  payload,
  endOfInput: fc.boolean(),
  eventTimeMs: fc.option(fc.maxSafeInteger(), { nil: undefined }),
  deadlineMs: fc.option(uint32, { nil: undefined }),
});

export const anyOutput: fc.Arbitrary<OutputFrame> = fc.record({
  kind: fc.constant('output'),
  sequence,
  inputSequence: natural,
  payload: fc.oneof(payload, token),
  endOfOutput: fc.boolean(),
});

const parameters = fc
  .dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 })
  .map((value) => JSON.parse(JSON.stringify(value, safeNumber)) as JsonObject);

/** Whole numbers that are not exact are read as bigints from JSON, and as numbers from protobuf. */
function safeNumber(_key: string, value: unknown): unknown {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? 0 : value;
}

const streamId = fc.stringMatching(/^[A-Za-z0-9._~-]{3,128}$/);

const anyOpen: fc.Arbitrary<OpenFrame> = fc.record({
  kind: fc.constant('open'),
  streamId: fc.option(streamId, { nil: undefined }),
  mode: fc.constantFrom(...openModes),
  context: text,
  parameters,
  resumeAfter: natural,
  outputCredit: credit,
  protocolVersions: fc.array(uint32, { minLength: 1, maxLength: 3 }),
});
const anyAttempt = fc.oneof(fc.constant({}), fc.record({ clientId: streamId, attempt: uint32 }));

export const anyClientFrame: fc.Arbitrary<StreamClientFrame> = fc.oneof(
  fc.tuple(anyOpen, anyAttempt).map(([open, attempt]) => ({ ...open, ...attempt })),
  anyInput,
  fc.record({ kind: fc.constant('acknowledge'), output: natural, outputCredit: credit }),
  fc.record({ kind: fc.constant('cancel'), reason: text }),
);

const codes = Object.keys(errorCatalogue) as ErrorCode[];

export const anyServerFrame: fc.Arbitrary<StreamServerFrame> = fc.oneof(
  fc.record({
    kind: fc.constant('opened'),
    streamId,
    epoch: natural,
    model: text,
    version: text,
    protocolVersion: uint32,
    acceptedInput: natural,
    nextOutput: natural,
    inputCredit: fc.record({ messages: uint32, bytes: natural }),
    warnings: fc.array(text, { maxLength: 2 }),
  }),
  fc.record({ kind: fc.constant('accepted'), input: natural, inputCredit: credit }),
  anyOutput,
  fc.record({ kind: fc.constant('draining'), message: text }),
  fc.record({
    kind: fc.constant('ended'),
    outcome: fc.constantFrom(...streamOutcomes),
    code: fc.option(fc.constantFrom(...codes), { nil: undefined }),
    message: text,
    outputs: natural,
  }),
);

export function clientMessageOf(frame: StreamClientFrame): ClientFrame {
  switch (frame.kind) {
    case 'open': {
      const { kind, streamId: id = '', resumeAfter, outputCredit, ...fields } = frame;
      const value = {
        ...fields,
        streamId: id,
        resumeAfter: BigInt(resumeAfter),
        ...creditOf('outputCredit', outputCredit),
      };
      // The generated code's JSON has no large integers, and these parameters have none.
      return create(ClientFrameSchema, { frame: { case: kind, value: value as never } });
    }
    case 'input':
      return create(ClientFrameSchema, { frame: { case: 'input', value: inputMessageOf(frame) } });
    case 'acknowledge': {
      const value = { output: BigInt(frame.output), ...creditOf('outputCredit', frame.outputCredit) };
      return create(ClientFrameSchema, { frame: { case: 'acknowledge', value } });
    }
    case 'cancel':
      return create(ClientFrameSchema, { frame: { case: 'cancel', value: { reason: frame.reason } } });
  }
}

export function serverMessageOf(frame: StreamServerFrame): ServerFrame {
  switch (frame.kind) {
    case 'opened': {
      const { kind, epoch, acceptedInput, nextOutput, inputCredit, warnings, ...fields } = frame;
      const numbers = { epoch: BigInt(epoch), acceptedInput: BigInt(acceptedInput), nextOutput: BigInt(nextOutput) };
      const value = { ...fields, ...numbers, ...creditOf('inputCredit', inputCredit), warnings: [...warnings] };
      return create(ServerFrameSchema, { frame: { case: kind, value } });
    }
    case 'accepted': {
      const value = { input: BigInt(frame.input), ...creditOf('inputCredit', frame.inputCredit) };
      return create(ServerFrameSchema, { frame: { case: 'accepted', value } });
    }
    case 'output':
      return create(ServerFrameSchema, { frame: { case: 'output', value: outputMessageOf(frame) } });
    case 'draining':
      return create(ServerFrameSchema, { frame: { case: 'draining', value: { message: frame.message } } });
    case 'ended': {
      const { outcome, code = '', message, outputs } = frame;
      return create(ServerFrameSchema, {
        frame: { case: 'ended', value: { outcome, code, message, outputs: BigInt(outputs) } },
      });
    }
  }
}

export function inputMessageOf(frame: InputFrame): MessageInitShape<typeof InputSchema> {
  const { sequence: number, payload: given, endOfInput, eventTimeMs, deadlineMs } = frame;
  return {
    sequence: BigInt(number),
    tensors: tensorMessagesOf(given),
    payload: payloadMessageOf(given),
    endOfInput,
    ...(eventTimeMs === undefined ? {} : { eventTimeMs: BigInt(eventTimeMs) }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  };
}

export function outputMessageOf(frame: OutputFrame): MessageInitShape<typeof OutputSchema> {
  const { payload: given } = frame;
  return {
    sequence: BigInt(frame.sequence),
    inputSequence: BigInt(frame.inputSequence),
    tensors: given.kind === 'token' ? [] : tensorMessagesOf(given),
    payload:
      given.kind === 'token' ? { case: 'token', value: { id: given.id, text: given.text } } : payloadMessageOf(given),
    endOfOutput: frame.endOfOutput,
  };
}

/** The frame with plain bytes: some readers give Buffers, which no comparison takes for equal. */
export function withPlainBytes<Frame extends StreamClientFrame | OutputFrame>(frame: Frame): Frame {
  if (!('payload' in frame)) return frame;
  const { payload: given } = frame;
  if (given.kind === 'bytes') return { ...frame, payload: { kind: 'bytes', bytes: new Uint8Array(given.bytes) } };
  if (given.kind !== 'tensors') return frame;
  const list = given.tensors.map((tensor) => ({ ...tensor, data: new Uint8Array(tensor.data) }));
  return { ...frame, payload: { kind: 'tensors', tensors: list } };
}

function payloadMessageOf(given: StreamPayload) {
  if (given.kind === 'text') return { case: 'text' as const, value: given.text };
  if (given.kind === 'bytes') return { case: 'bytes' as const, value: new Uint8Array(given.bytes) };
  return { case: undefined };
}

function tensorMessagesOf(given: StreamPayload) {
  if (given.kind !== 'tensors') return [];
  return given.tensors.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape: shape.map(BigInt),
    raw: new Uint8Array(data),
  }));
}

function creditOf<Key extends string>(key: Key, given: StreamCredit | undefined) {
  if (given === undefined) return {};
  return { [key]: { messages: given.messages, bytes: BigInt(given.bytes) } };
}
