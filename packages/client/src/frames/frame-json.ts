/** Frames as JSON, for server-sent events and the requests beside them. The client sends tensors as base64, and reads both forms. */
import {
  type AcceptedFrame,
  bf16From,
  type Datatype,
  encodeBytesElements,
  fp16From,
  type InputFrame,
  type StreamPayload,
  type StreamServerFrame,
  type StreamToken,
  type Tensor,
} from '@millrace/protocol';
import { unreadableAnswer } from '../errors/millrace-error.ts';
import { base64From, bytesFromBase64 } from './base64.ts';
import { endedFrom, knownDatatype } from './read-server-frame.ts';

/** The message `Input`. */
export function inputJson(frame: InputFrame): Record<string, unknown> {
  const { sequence, payload, endOfInput, eventTimeMs, deadlineMs } = frame;
  return {
    sequence,
    ...payloadJson(payload),
    ...(endOfInput ? { endOfInput } : {}),
    ...(eventTimeMs === undefined ? {} : { eventTimeMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
  };
}

function payloadJson(payload: StreamPayload): Record<string, unknown> {
  switch (payload.kind) {
    case 'none':
      return {};
    case 'text':
      return { text: payload.text };
    case 'bytes':
      return { bytes: base64From(payload.bytes) };
    case 'tensors':
      return {
        tensors: payload.tensors.map(({ name, datatype, shape, data }) => {
          return { name, datatype, shape, raw: base64From(data) };
        }),
      };
  }
}

interface JsonTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape?: readonly number[];
  readonly raw?: string;
  readonly data?: readonly unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

/** A frame by its name and its JSON without the outer key; undefined: a name that this version does not know. */
export function serverFrameFromJson(name: string, json: string): StreamServerFrame | undefined {
  const fields = JSON.parse(json) as Fields;
  switch (name) {
    case 'opened':
      return {
        kind: 'opened',
        streamId: textIn(fields, 'streamId'),
        epoch: numberIn(fields, 'epoch'),
        model: textIn(fields, 'model'),
        version: textIn(fields, 'version'),
        protocolVersion: numberIn(fields, 'protocolVersion'),
        acceptedInput: numberIn(fields, 'acceptedInput'),
        nextOutput: numberIn(fields, 'nextOutput'),
        inputCredit: takeCredit(fields) ?? { messages: 0, bytes: 0 },
        warnings: (fields.warnings ?? []) as readonly string[],
      };
    case 'accepted':
      return acceptedFromFields(fields);
    case 'output':
      return {
        kind: 'output',
        sequence: numberIn(fields, 'sequence'),
        inputSequence: numberIn(fields, 'inputSequence'),
        payload: payloadFrom(fields),
        endOfOutput: fields.endOfOutput === true,
      };
    case 'draining':
      return { kind: 'draining', message: textIn(fields, 'message') };
    case 'ended': {
      const outcome = textIn(fields, 'outcome');
      return endedFrom(outcome, textIn(fields, 'code'), textIn(fields, 'message'), numberIn(fields, 'outputs'));
    }
    default:
      return undefined;
  }
}

/** The answer to an input that is a request of its own. */
export function acceptedFromJson(json: string): AcceptedFrame {
  return acceptedFromFields(JSON.parse(json) as Fields);
}

function acceptedFromFields(fields: Fields): AcceptedFrame {
  return { kind: 'accepted', input: numberIn(fields, 'input'), inputCredit: takeCredit(fields) };
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

function numberIn(fields: Fields, name: string): number {
  const value = Number(fields[name] ?? 0);
  if (!Number.isSafeInteger(value)) throw unreadableAnswer(`${name} is ${String(fields[name])}`);
  return value;
}

function takeCredit({ inputCredit }: Fields): { messages: number; bytes: number } | undefined {
  if (typeof inputCredit !== 'object' || inputCredit === null) return undefined;
  const fields = inputCredit as Fields;
  return { messages: numberIn(fields, 'messages'), bytes: numberIn(fields, 'bytes') };
}

function payloadFrom(fields: Fields): StreamPayload | StreamToken {
  if (Array.isArray(fields.tensors)) return { kind: 'tensors', tensors: fields.tensors.map(tensorOf) };
  if (typeof fields.text === 'string') return { kind: 'text', text: fields.text };
  if (typeof fields.bytes === 'string') return { kind: 'bytes', bytes: bytesFromBase64(fields.bytes) };
  if (typeof fields.token !== 'object' || fields.token === null) return { kind: 'none' };
  const token = fields.token as Fields;
  return { kind: 'token', id: numberIn(token, 'id'), text: textIn(token, 'text') };
}

function tensorOf({ name, datatype, shape = [], raw, data = [] }: JsonTensor): Tensor {
  const known = knownDatatype(datatype, name);
  return { name, datatype: known, shape, data: raw === undefined ? elementBytes(known, data) : bytesFromBase64(raw) };
}

/** The server writes elements flat, and only where JSON has them exactly. */
function elementBytes(datatype: Datatype, data: readonly unknown[]): Uint8Array {
  if (datatype === 'BYTES') return encodeBytesElements(data as readonly string[]);
  const array = arrayOf(datatype, data as readonly number[]);
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function arrayOf(datatype: Exclude<Datatype, 'BYTES'>, data: readonly number[]): ArrayBufferView {
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return Uint8Array.from(data, Number);
    case 'INT8':
      return Int8Array.from(data);
    case 'UINT16':
      return Uint16Array.from(data);
    case 'INT16':
      return Int16Array.from(data);
    case 'UINT32':
      return Uint32Array.from(data);
    case 'INT32':
      return Int32Array.from(data);
    case 'UINT64':
      return BigUint64Array.from(data, BigInt);
    case 'INT64':
      return BigInt64Array.from(data, BigInt);
    case 'FP16':
      return Uint16Array.from(data, fp16From);
    case 'BF16':
      return Uint16Array.from(data, bf16From);
    case 'FP32':
      return Float32Array.from(data);
    case 'FP64':
      return Float64Array.from(data);
  }
}
