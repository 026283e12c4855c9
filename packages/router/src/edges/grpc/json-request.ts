/**
 * A ModelInferRequest in protobuf's JSON, which Connect's clients may send. A short one is read at once by the generated
 * code; of a long one the generated code reads everything but the long lists, and these in slices.
 */

import type { JsonValue as ProtoJson } from '@bufbuild/protobuf';
import { fromJson, toBinary } from '@bufbuild/protobuf';
import {
  delimitedHead,
  InferenceError,
  type JsonLimits,
  JsonReader,
  type JsonSpan,
  type JsonValue,
  LongValues,
  readJsonValue,
} from '@millrace/protocol';
import { InferTensorContentsSchema, ModelInferRequestSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { bytesInSlices } from '../repository/base64-file.ts';
import { joinPieces } from '../slices/join-pieces.ts';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import type { InferMessage, InferMessageReader, InputMessage } from './infer-message.ts';
import { jsonAtOnceBytesMax, jsonFrom } from './message-codec.ts';

const limits: JsonLimits = { keysMax: 256, keyBytesMax: 4096, headBytesMax: 128 * 1024 };
const elementsPerSlice = 2048;
/** Of `bytes_contents`, the only list whose elements can be long. */
const bytesContentsField = 8;
const searchedBytes = 2 * sliceBytes;

/** A request that came as JSON: it is answered in JSON too. */
export class JsonRequest {
  readonly #bytes: Uint8Array;
  readonly #reader: InferMessageReader;
  /** Of a short request. */
  readonly message: InferMessage | undefined;

  constructor(bytes: Uint8Array, reader: InferMessageReader) {
    this.#bytes = bytes;
    this.#reader = reader;
    this.message = bytes.length > jsonAtOnceBytesMax ? undefined : this.#messageFrom(jsonFrom(bytes));
  }

  *readInSlices(): SliceGenerator<InferMessage> {
    const bytes = this.#bytes;
    const longValues = new LongValues(bytes);
    while (!longValues.step(searchedBytes)) yield;
    const lists: LongList[] = [];
    const shell = readShell(new JsonReader(bytes, undefined, limits, longValues), lists);
    const message = this.#messageFrom(shell as ProtoJson);
    for (const { input, field, span } of lists) {
      const reader = new JsonReader(bytes, span, undefined, longValues);
      if (input === rawContents) message.rawInputContents[field as number] = yield* rawBytes(reader, bytes, span);
      else {
        const target = message.inputs[input] as InputMessage;
        const before = target.contents === undefined ? [] : [target.contents];
        target.contents = yield* joinPieces([...before, ...(yield* contentsOf(reader, bytes, field as string))]);
      }
      yield;
    }
    return message;
  }

  #messageFrom(json: ProtoJson): InferMessage {
    return this.#reader.read(toBinary(ModelInferRequestSchema, fromJson(ModelInferRequestSchema, json)));
  }
}

const rawContents = -1;

/** A list, or one of the raw contents, that the generated code does not read. */
interface LongList {
  /** Number of the input, or `rawContents`. */
  readonly input: number;
  /** Name of the list, or number of the raw contents. */
  readonly field: string | number;
  readonly span: JsonSpan;
}

function readShell(reader: JsonReader, lists: LongList[]): JsonValue {
  const shell = readMembers(reader, (key) => {
    if (key === 'inputs') {
      return readElements(reader, (input) =>
        readMembers(reader, (inputKey) => (inputKey === 'contents' ? readContents(reader, input, lists) : undefined)),
      );
    }
    if (key !== 'rawInputContents' && key !== 'raw_input_contents') return undefined;
    return readElements(reader, (index) => leaveOut(reader, { input: rawContents, field: index, empty: '' }, lists));
  });
  reader.expectEnd();
  return shell;
}

function readContents(reader: JsonReader, input: number, lists: LongList[]): JsonValue {
  return readMembers(reader, (field) => leaveOut(reader, { input, field, empty: [] }, lists));
}

/** The placeholder of a long value; undefined for a short one. */
function leaveOut(
  reader: JsonReader,
  { input, field, empty }: { readonly input: number; readonly field: string | number; readonly empty: JsonValue },
  lists: LongList[],
): JsonValue | undefined {
  const span = reader.takeLong();
  if (span === undefined) return undefined;
  lists.push({ input, field, span });
  return empty;
}

/** An object whose members are read by `read`, or as plain values where it gives nothing. */
function readMembers(reader: JsonReader, read: (key: string) => JsonValue | undefined): JsonValue {
  if (reader.peekKind() !== 'object') return readJsonValue(reader);
  const members: [string, JsonValue][] = [];
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    members.push([key, plainFrom(read(key) ?? readJsonValue(reader))]);
  }
  return Object.fromEntries(members);
}

function readElements(reader: JsonReader, read: (index: number) => JsonValue | undefined): JsonValue {
  if (reader.peekKind() !== 'array') return readJsonValue(reader);
  const elements: JsonValue[] = [];
  reader.beginArray();
  while (reader.nextElement()) elements.push(plainFrom(read(elements.length) ?? readJsonValue(reader)));
  return elements;
}

/** The generated code takes large integers as text. */
function plainFrom(value: JsonValue): JsonValue {
  if (typeof value === 'bigint') return String(value);
  return Array.isArray(value) ? value.map(plainFrom) : value;
}

function* rawBytes(reader: JsonReader, bytes: Uint8Array, span: JsonSpan): SliceGenerator<Uint8Array> {
  if (reader.peekKind() !== 'string') throw new InferenceError('invalid-request', 'raw_input_contents must be base64');
  return yield* bytesInSlices('raw_input_contents', bytes, span);
}

/** The elements of a list as messages; concatenated they are one message with all of them. */
function* contentsOf(reader: JsonReader, bytes: Uint8Array, field: string): SliceGenerator<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  let elements: JsonValue[] = [];
  const encode = (): void => {
    const contents = fromJson(InferTensorContentsSchema, { [field]: elements } as ProtoJson);
    parts.push(toBinary(InferTensorContentsSchema, contents));
    elements = [];
  };
  let sliceEnd = reader.position + sliceBytes;
  reader.beginArray();
  while (reader.nextElement()) {
    const long = reader.takeLong();
    if (long === undefined) elements.push(plainFrom(readJsonValue(reader)));
    else {
      encode();
      if (bytes[long.start] !== 0x22) throw new InferenceError('invalid-request', `${field} must not have lists in it`);
      const element = yield* bytesInSlices(field, bytes, long);
      parts.push(delimitedHead(bytesContentsField, element.length), element);
    }
    if (elements.length < elementsPerSlice && reader.position < sliceEnd) continue;
    encode();
    sliceEnd = reader.position + sliceBytes;
    yield;
  }
  encode();
  return parts;
}
