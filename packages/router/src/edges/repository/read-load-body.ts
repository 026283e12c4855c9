/** Reads bodies of any size that may bring files in base64: in slices, the files decoded directly into bytes. */
import {
  InferenceError,
  type JsonLimits,
  type JsonObject,
  JsonReader,
  type JsonSpan,
  LongValues,
  quote,
  readJsonValue,
} from '@millrace/protocol';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import { fileFromBase64, fileInSlices } from './base64-file.ts';

export interface LoadBody {
  /** The body with an empty text for every file. */
  readonly body: JsonObject;
  /** By the keys they have in the body. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export interface FilesOfBody {
  /** The member of the body whose members are files. */
  readonly member: string;
  isFile(key: string): boolean;
}

/** Limits of a body without its files: a configuration and some names. */
export const loadHeadBytesMax = 256 * 1024;

const limits: JsonLimits = { keysMax: 8192, keyBytesMax: 4096, headBytesMax: loadHeadBytesMax };
const searchedBytes = 2 * sliceBytes;

/** An empty body is an empty object. `grow` is called with the memory that the files take. */
export function* readLoadBody(
  bytes: Uint8Array,
  files: FilesOfBody,
  grow: (bytes: number) => void,
): SliceGenerator<LoadBody> {
  if (bytes.length === 0) return { body: {}, files: new Map() };
  const longValues = new LongValues(bytes);
  while (!longValues.step(searchedBytes)) yield;
  const texts = new Map<string, JsonSpan | string>();
  const body = readBodyObject(new JsonReader(bytes, undefined, limits, longValues), files, texts);
  const contents = new Map<string, Uint8Array>();
  for (const [name, text] of texts) {
    if (typeof text === 'string') contents.set(name, fileFromBase64(name, text));
    else contents.set(name, yield* fileInSlices(name, bytes, text, grow));
  }
  return { body, files: contents };
}

function readBodyObject(reader: JsonReader, files: FilesOfBody, texts: Map<string, JsonSpan | string>): JsonObject {
  if (reader.peekKind() !== 'object') throw new InferenceError('invalid-request', 'the body must be a JSON object');
  const body: JsonObject = Object.create(null) as JsonObject;
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === '__proto__') throw new InferenceError('invalid-request', `${quote(key)} is not a field of the body`);
    const hasFiles = key === files.member && reader.peekKind() === 'object';
    body[key] = hasFiles ? readFiles(reader, files, texts) : readJsonValue(reader);
  }
  reader.expectEnd();
  return { ...body };
}

function readFiles(reader: JsonReader, files: FilesOfBody, texts: Map<string, JsonSpan | string>): JsonObject {
  const members: [string, JsonObject[string]][] = [];
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (files.isFile(key) && reader.peekKind() === 'string') {
      texts.set(key, reader.takeLong() ?? reader.readString());
      members.push([key, '']);
    } else members.push([key, readJsonValue(reader)]);
  }
  return Object.fromEntries(members);
}
