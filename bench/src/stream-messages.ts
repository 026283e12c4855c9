/** Frames of durable streams as the benches send and check them, made by protobufjs from the published .proto file. */
import protobuf from 'protobufjs';
import { envelopeOf, protoFolder } from './grpc-messages.ts';

export const streamProto = `${protoFolder}/millrace/v1/inference.proto`;
export const generatePath = '/millrace.v1.InferenceService/Generate';
export const streamPath = '/millrace.v1.InferenceService/Stream';
/** Of server-sent events and of WebSocket connections. */
export const httpStreamPath = '/v1/streams';

/** The model that gives `count` outputs of `chunkBytes` to one input, and the one that gives every input back. */
export const chunksModel = 'chunks';
export const echoModel = 'identity_uint8';
export const chunkBytes = 32;
export const echoBytes = 16;

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (target.startsWith('/') ? target : `${protoFolder}/${target}`);
root.loadSync(streamProto);
const generateRequest = root.lookupType('millrace.v1.GenerateRequest');
const clientFrame = root.lookupType('millrace.v1.ClientFrame');
const serverFrame = root.lookupType('millrace.v1.ServerFrame');

/** The first byte of a `ServerFrame` says which frame it is. */
export const outputFrameTag = (3 << 3) | 2;
export const openedFrameTag = (1 << 3) | 2;
export const endedFrameTag = (5 << 3) | 2;

export interface StreamTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly raw: Uint8Array;
}

export interface StreamOutputMessage {
  readonly sequence: number;
  readonly inputSequence: number;
  readonly tensors: readonly StreamTensor[];
  /** Left out where it is false: protobufjs would write it. */
  readonly endOfOutput?: true;
}

/** The chunk of this number, counted from 0: its number, then the same byte again and again. */
export function chunkData(number: number): Uint8Array {
  const data = Buffer.alloc(chunkBytes, 7);
  data.writeUInt32LE(number, 0);
  return data;
}

/** What `chunksModel` gives as the output of this number. */
export function chunkOutput(sequence: number): StreamOutputMessage {
  const raw = chunkData(sequence - 1);
  return { sequence, inputSequence: 1, tensors: [{ name: 'chunk', datatype: 'UINT8', shape: [chunkBytes], raw }] };
}

/** The output that only says that there are no more. */
export function lastOutput(sequence: number): StreamOutputMessage {
  return { sequence, inputSequence: 1, tensors: [], endOfOutput: true };
}

/** What `echoModel` gives to this input. */
export function echoOutput(sequence: number, raw: Uint8Array): StreamOutputMessage {
  return {
    sequence,
    inputSequence: sequence,
    tensors: [{ name: 'OUTPUT0', datatype: 'UINT8', shape: [1, raw.length], raw }],
    endOfOutput: true,
  };
}

export function generateBody(count: number): Buffer {
  const raw = Buffer.alloc(4);
  raw.writeInt32LE(count);
  const tensors = [{ name: 'count', datatype: 'INT32', shape: [1], raw }];
  return envelopeOf(generateRequest.encode({ open: { context: chunksModel }, input: { tensors } }).finish());
}

/** The same request as the body of `POST /v1/streams`. */
export function generateJson(count: number): string {
  const tensors = [{ name: 'count', datatype: 'INT32', shape: [1], data: [count] }];
  return JSON.stringify({ context: chunksModel, input: { tensors }, end_of_input: true });
}

/** An output as a server-sent event. */
export function outputEvent({ sequence, inputSequence, tensors, endOfOutput }: StreamOutputMessage): string {
  const data = {
    sequence,
    inputSequence,
    ...(tensors.length === 0 ? {} : { tensors: tensors.map(({ raw, ...rest }) => ({ ...rest, data: [...raw] })) }),
    ...(endOfOutput === true ? { endOfOutput } : {}),
  };
  return `event: output\nid: ${sequence}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function openBody(context: string): Buffer {
  return envelopeOf(clientFrame.encode({ open: { context } }).finish());
}

export function echoInput(sequence: number, isLast: boolean): Buffer {
  const bytes = Buffer.alloc(echoBytes, 5);
  bytes.writeUInt32LE(sequence, 0);
  return envelopeOf(
    clientFrame.encode({ input: { sequence, bytes, ...(isLast ? { endOfInput: true } : {}) } }).finish(),
  );
}

/** The bytes of a frame with this output. */
export function outputMessage(output: StreamOutputMessage): Uint8Array {
  return serverFrame.encode({ output }).finish();
}
