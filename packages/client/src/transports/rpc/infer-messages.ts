/** ModelInferRequest and ModelInferResponse (proto/inference/grpc_service.proto) by hand: the calls that there are many of. */
import { ProtoCursor, type Tensor } from '@millrace/protocol';
import { unreadableAnswer } from '../../errors/millrace-error.ts';
import { ByteWriter } from '../../frames/byte-writer.ts';
import { knownDatatype } from '../../frames/read-server-frame.ts';
import type { CallParameter, InferCall, InferReply } from '../transport.ts';
import { messagePrefixBytes } from './rpc-call.ts';

/** Data of inputs above this size is sent from where it lies. */
const copiedBytesMax = 4096;

const field = { modelName: 0x0a, modelVersion: 0x12, input: 0x2a, rawInput: 0x3a } as const;

/** The message behind its prefix, in pieces. */
export function encodeInferCall(call: InferCall): readonly Uint8Array[] {
  const { model, version, inputs, outputs, parameters } = call;
  const extra = extraFields(outputs, parameters);
  let headBytes = textBytes(model) + textBytes(version) + extra.length;
  let copiedBytes = 0;
  let messageBytes = 0;
  const inputSizes: number[] = [];
  for (let index = 0; index < inputs.length; index++) {
    const tensor = inputs[index] as Tensor;
    const size = textBytes(tensor.name) + textBytes(tensor.datatype) + shapeBytes(tensor.shape);
    inputSizes.push(size);
    headBytes += 1 + varintBytes(size) + size;
    const { length } = tensor.data;
    const prefix = 1 + varintBytes(length);
    messageBytes += prefix + length;
    copiedBytes += prefix + (length <= copiedBytesMax ? length : 0);
  }
  messageBytes += headBytes;
  const bytes = new Uint8Array(messagePrefixBytes + headBytes + copiedBytes);
  new DataView(bytes.buffer).setUint32(1, messageBytes);
  let at = writeText(bytes, messagePrefixBytes, field.modelName, model);
  at = writeText(bytes, at, field.modelVersion, version);
  bytes.set(extra, at);
  at += extra.length;
  for (let index = 0; index < inputs.length; index++) {
    const { name, datatype, shape } = inputs[index] as Tensor;
    bytes[at++] = field.input;
    at = writeVarint(bytes, at, inputSizes[index] as number);
    at = writeText(bytes, at, 0x0a, name);
    at = writeText(bytes, at, 0x12, datatype);
    at = writeShape(bytes, at, shape);
  }
  const pieces: Uint8Array[] = [];
  let cut = 0;
  for (let index = 0; index < inputs.length; index++) {
    const { data } = inputs[index] as Tensor;
    bytes[at++] = field.rawInput;
    at = writeVarint(bytes, at, data.length);
    if (data.length <= copiedBytesMax) {
      bytes.set(data, at);
      at += data.length;
      continue;
    }
    pieces.push(bytes.subarray(cut, at), data);
    cut = at;
  }
  if (at > cut) pieces.push(cut === 0 ? bytes : bytes.subarray(cut, at));
  return pieces;
}

const noBytes = /* @__PURE__ */ new Uint8Array();
const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

/** Parameters and requested outputs, which most calls do not have. */
function extraFields(outputs: readonly string[], parameters: Readonly<Record<string, CallParameter>>): Uint8Array {
  const names = Object.keys(parameters);
  if (names.length === 0 && outputs.length === 0) return noBytes;
  const writer = new ByteWriter();
  for (const name of names) {
    writer.message(4, (entry) => {
      entry.text(1, name);
      entry.message(2, (value) => writeParameter(value, name, parameters[name] as CallParameter));
    });
  }
  for (const name of outputs) writer.message(6, (output) => output.text(1, name));
  return writer.take();
}

function writeParameter(writer: ByteWriter, name: string, value: CallParameter): void {
  if (typeof value === 'boolean') writer.presentNumber(1, Number(value));
  else if (typeof value === 'string') writer.bytes(3, encoder.encode(value));
  else if (typeof value === 'number' && !Number.isSafeInteger(value)) writer.double(4, value);
  else if (value > 2n ** 63n - 1n) writer.presentInteger(5, BigInt(value));
  else if (value >= -(2n ** 63n)) writer.presentInteger(2, BigInt(value));
  else throw new RangeError(`the parameter ${name} is ${value}, which 64 bits do not hold`);
}

/** Outputs are views of the message. */
export function decodeInferReply(message: Uint8Array): InferReply {
  const cursor = new ProtoCursor(message);
  let model = '';
  let version = '';
  const heads: OutputHead[] = [];
  const outputs: Tensor[] = [];
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === 0x0a) model = readText(cursor, message);
    else if (tag === 0x12) version = readText(cursor, message);
    else if (tag === 0x2a) heads.push(readHead(cursor, message));
    else if (tag === 0x32) {
      const head = heads[outputs.length];
      if (head === undefined) throw unreadableAnswer('there is more data than outputs');
      const { name, datatype, shape } = head;
      outputs.push({ name, datatype: knownDatatype(datatype, name), shape, data: cursor.readBytes() });
    } else cursor.skip(tag);
  }
  if (outputs.length !== heads.length) throw unreadableAnswer('outputs came without data');
  return { model, version, outputs };
}

interface OutputHead {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

function readHead(cursor: ProtoCursor, message: Uint8Array): OutputHead {
  const stop = cursor.readLength();
  const outer = cursor.end;
  cursor.end = stop;
  let name = '';
  let datatype = '';
  const shape: number[] = [];
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === 0x0a) name = readText(cursor, message);
    else if (tag === 0x12) datatype = readText(cursor, message);
    else if (tag === 0x18) shape.push(cursor.readInt64());
    else if (tag === 0x1a) {
      const last = cursor.readLength();
      while (cursor.at < last) shape.push(cursor.readInt64());
    } else cursor.skip(tag);
  }
  cursor.end = outer;
  return { name, datatype, shape };
}

/** Names are short and mostly the same: what a message repeats is decoded once. */
const texts = /* @__PURE__ */ new Map<number, string>();
const textsMax = 512;

function readText(cursor: ProtoCursor, message: Uint8Array): string {
  const stop = cursor.readLength();
  const start = cursor.at;
  cursor.at = stop;
  let hash = stop - start;
  for (let at = start; at < stop; at++) hash = (Math.imul(hash, 31) + (message[at] as number)) | 0;
  const known = texts.get(hash);
  if (known !== undefined && isText(known, message, start, stop)) return known;
  const text = decoder.decode(message.subarray(start, stop));
  if (texts.size < textsMax) texts.set(hash, text);
  return text;
}

/** Only texts of ASCII are compared; others are decoded each time. */
function isText(text: string, message: Uint8Array, start: number, stop: number): boolean {
  if (text.length !== stop - start) return false;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== message[start + at]) return false;
  return true;
}

function textBytes(text: string): number {
  if (text === '') return 0;
  const bytes = utf8Bytes(text);
  return 1 + varintBytes(bytes) + bytes;
}

function utf8Bytes(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return encoder.encode(text).length;
  return text.length;
}

function writeText(bytes: Uint8Array, offset: number, tag: number, text: string): number {
  if (text === '') return offset;
  bytes[offset] = tag;
  const length = utf8Bytes(text);
  let at = writeVarint(bytes, offset + 1, length);
  if (length !== text.length) return at + encoder.encodeInto(text, bytes.subarray(at)).written;
  for (let index = 0; index < length; index++) bytes[at++] = text.charCodeAt(index);
  return at;
}

function shapeBytes(shape: readonly number[]): number {
  if (shape.length === 0) return 0;
  const bytes = packedBytes(shape);
  return 1 + varintBytes(bytes) + bytes;
}

function packedBytes(shape: readonly number[]): number {
  let bytes = 0;
  for (let index = 0; index < shape.length; index++) bytes += varintBytes(shape[index] as number);
  return bytes;
}

function writeShape(bytes: Uint8Array, offset: number, shape: readonly number[]): number {
  if (shape.length === 0) return offset;
  bytes[offset] = 0x1a;
  let at = writeVarint(bytes, offset + 1, packedBytes(shape));
  for (let index = 0; index < shape.length; index++) at = writeVarint(bytes, at, shape[index] as number);
  return at;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}

function writeVarint(bytes: Uint8Array, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
  bytes[at++] = rest;
  return at;
}
