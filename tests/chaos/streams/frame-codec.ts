/** Frames as the run's clients write and read them: protobuf by protobufjs, and its JSON mapping. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type {
  AcceptedFrame,
  EndedFrame,
  InputFrame,
  JsonObject,
  JsonValue,
  OpenedFrame,
  OpenFrame,
  OutputFrame,
  StreamClientFrame,
  StreamPayload,
  StreamServerFrame,
  Tensor,
} from '@millrace/protocol';
import { encodeBytesElements } from '@millrace/protocol';
import { repositoryRoot } from '../../support/repository-root.ts';

export interface FrameCodec {
  encode(frame: StreamClientFrame): Buffer;
  /** The one message of `Generate`. */
  encodeGenerate(open: OpenFrame, input: InputFrame): Buffer;
  decode(bytes: Uint8Array): StreamServerFrame;
}

interface MessageType {
  fromObject(value: object): unknown;
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  toObject(message: unknown, options: object): ServerObject;
}

interface TensorObject extends Omit<Tensor, 'data' | 'shape'> {
  readonly shape?: readonly number[];
  /** In JSON as base64. */
  readonly raw?: Buffer | string;
  /** In JSON only. */
  readonly data?: readonly (number | string)[];
}

/** A frame of the server: an object with one key. JSON leaves out what is empty or false. */
export interface ServerObject {
  readonly opened?: Omit<OpenedFrame, 'kind' | 'warnings'> & { readonly warnings?: readonly string[] };
  readonly accepted?: Omit<AcceptedFrame, 'kind'>;
  readonly output?: {
    readonly sequence: number;
    readonly inputSequence: number;
    readonly tensors?: readonly TensorObject[];
    readonly endOfOutput?: boolean;
  };
  readonly draining?: { readonly message?: string };
  readonly ended?: Partial<Omit<EndedFrame, 'code'>> &
    Pick<EndedFrame, 'outcome' | 'outputs'> & { readonly code?: string };
}

const protobuf = createRequire(import.meta.url)('protobufjs') as {
  loadSync(file: string): { lookupType(name: string): MessageType };
};
const contract = protobuf.loadSync(join(repositoryRoot, 'proto/millrace/v1/inference.proto'));
const clientFrame = contract.lookupType('millrace.v1.ClientFrame');
const serverFrame = contract.lookupType('millrace.v1.ServerFrame');
const generateRequest = contract.lookupType('millrace.v1.GenerateRequest');
const collectResponse = contract.lookupType('millrace.v1.CollectResponse');

export const protobufCodec: FrameCodec = {
  encode: (frame) => protobufBytes(clientFrame, clientObject(frame, rawTensor, structFrom)),
  encodeGenerate: (open, input) =>
    protobufBytes(generateRequest, { open: openObject(open, structFrom), input: inputObject(input, rawTensor) }),
  decode: (bytes) =>
    serverFrameFrom(serverFrame.toObject(serverFrame.decode(bytes), { longs: Number, defaults: true })),
};

/** The one message that `Collect` answers with, as the frames that a stream would have sent: the last output, if any, and the end. */
export function collectedFrames(bytes: Uint8Array): readonly StreamServerFrame[] {
  const { output, ended } = collectResponse.toObject(collectResponse.decode(bytes), { longs: Number, defaults: true });
  // An absent message is null.
  return [output ? { output } : {}, ended ? { ended } : {}]
    .filter((frame) => Object.keys(frame).length > 0)
    .map(serverFrameFrom);
}

export const jsonCodec: FrameCodec = {
  encode: (frame) => jsonBytes(clientObject(frame, listedTensor, asItIs)),
  encodeGenerate: (open, input) => jsonBytes({ open: openObject(open, asItIs), input: jsonInput(input) }),
  decode: (bytes) => serverFrameFrom(JSON.parse(Buffer.from(bytes).toString()) as ServerObject),
};

export function jsonInput(input: InputFrame): object {
  return inputObject(input, listedTensor);
}

export function serverFrameFrom(frame: ServerObject): StreamServerFrame {
  const { opened, accepted, output, draining, ended } = frame;
  if (opened !== undefined) return { kind: 'opened', ...opened, warnings: opened.warnings ?? [] };
  if (accepted !== undefined) {
    return { kind: 'accepted', input: accepted.input, inputCredit: accepted.inputCredit ?? undefined };
  }
  if (output !== undefined) return outputFrame(output);
  if (draining !== undefined) return { kind: 'draining', message: draining.message ?? '' };
  if (ended === undefined) throw new Error(`a frame of no known kind: ${JSON.stringify(frame)}`);
  const { outcome, code = '', message = '', outputs } = ended;
  const named = code === '' ? {} : { code: code as NonNullable<EndedFrame['code']> };
  return { kind: 'ended', outcome, message, outputs, ...named };
}

function outputFrame({
  sequence,
  inputSequence,
  tensors = [],
  endOfOutput = false,
}: NonNullable<ServerObject['output']>): OutputFrame {
  const payload: StreamPayload =
    tensors.length === 0 ? { kind: 'none' } : { kind: 'tensors', tensors: tensors.map(tensorFrom) };
  return { kind: 'output', sequence, inputSequence, payload, endOfOutput };
}

function clientObject(
  frame: StreamClientFrame,
  tensorObject: (tensor: Tensor) => TensorObject,
  parametersObject: (parameters: JsonObject) => object,
): object {
  switch (frame.kind) {
    case 'open':
      return { open: openObject(frame, parametersObject) };
    case 'input':
      return { input: inputObject(frame, tensorObject) };
    case 'acknowledge':
      return { acknowledge: { output: frame.output, outputCredit: frame.outputCredit } };
    case 'cancel':
      return { cancel: { reason: frame.reason } };
  }
}

function openObject(
  { streamId, mode, context, parameters, resumeAfter, outputCredit }: OpenFrame,
  parametersObject: (parameters: JsonObject) => object,
): object {
  return { streamId, mode, context, parameters: parametersObject(parameters), resumeAfter, outputCredit };
}

function asItIs(parameters: JsonObject): object {
  return parameters;
}

/** As `google.protobuf.Struct`, which protobufjs does not write by itself. */
function structFrom(parameters: JsonObject): object {
  return { fields: Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, valueFrom(value)])) };
}

function valueFrom(value: JsonValue | undefined): object {
  if (Array.isArray(value)) return { listValue: { values: value.map(valueFrom) } };
  if (typeof value === 'number') return { numberValue: value };
  if (typeof value === 'string') return { stringValue: value };
  throw new Error(`no plan of the run has the parameter ${String(value)}`);
}

function inputObject(
  { sequence, payload, endOfInput }: InputFrame,
  tensorObject: (tensor: Tensor) => TensorObject,
): object {
  if (payload.kind === 'text') return { sequence, text: payload.text, endOfInput };
  if (payload.kind !== 'tensors') return { sequence, endOfInput };
  return { sequence, tensors: payload.tensors.map(tensorObject), endOfInput };
}

function rawTensor({ name, datatype, shape, data }: Tensor): TensorObject {
  return { name, datatype, shape, raw: Buffer.from(data.buffer, data.byteOffset, data.byteLength) };
}

function listedTensor({ name, datatype, shape, data }: Tensor): TensorObject {
  const bytes = Uint8Array.from(data);
  return { name, datatype, shape, data: [...new (elementsOf(datatype))(bytes.buffer)] };
}

function tensorFrom({ name, datatype, shape = [], raw, data }: TensorObject): Tensor {
  if (data !== undefined && data !== null && data.length > 0) {
    return { name, datatype, shape, data: bytesFrom(datatype, data) };
  }
  return {
    name,
    datatype,
    shape,
    data: typeof raw === 'string' ? Buffer.from(raw, 'base64') : (raw ?? Buffer.alloc(0)),
  };
}

function bytesFrom(datatype: string, data: readonly (number | string)[]): Uint8Array {
  if (datatype === 'BYTES') return encodeBytesElements(data.map(String));
  if (datatype === 'INT64') return new Uint8Array(BigInt64Array.from(data, BigInt).buffer);
  return Buffer.from(new (elementsOf(datatype))(data.map(Number)).buffer);
}

/** Of the models of the run. */
function elementsOf(datatype: string): Float32ArrayConstructor | Int32ArrayConstructor {
  if (datatype === 'FP32') return Float32Array;
  if (datatype === 'INT32') return Int32Array;
  throw new Error(`no model of the run has ${datatype}`);
}

function protobufBytes(type: MessageType, value: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(value)).finish());
}

function jsonBytes(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
