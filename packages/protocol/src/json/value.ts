import { GrowableBytes } from './growable-bytes.ts';
import { appendStringPart } from './read-string.ts';
import { JsonReader } from './reader.ts';
import { JsonWriter } from './writer.ts';

/** Any JSON value, exactly: an integer that does not fit a double is a bigint. */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;

export interface JsonObject {
  [key: string]: JsonValue;
}

const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Parses a whole text into plain values; see `JsonReader` for what is refused and how. */
export function parseJson(bytes: Uint8Array): JsonValue {
  const reader = new JsonReader(bytes);
  const value = readJsonValue(reader);
  reader.expectEnd();
  return value;
}

/** Reads the next value of a reader as plain values. */
export function readJsonValue(reader: JsonReader): JsonValue {
  switch (reader.peekKind()) {
    case 'object': {
      const object: JsonObject = {};
      reader.beginObject();
      for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
        setMember(object, key, readJsonValue(reader));
      }
      return object;
    }
    case 'array': {
      const array: JsonValue[] = [];
      reader.beginArray();
      while (reader.nextElement()) array.push(readJsonValue(reader));
      return array;
    }
    case 'string':
      return reader.readString();
    case 'boolean':
      return reader.readBoolean();
    case 'null':
      reader.readNull();
      return null;
    case 'number':
      return reader.readNumber();
  }
}

/** The text of what `scanStringPart` found, which is skipped. */
export function unescapedPart(reader: JsonReader, isClosed: boolean): string {
  const { end, hasEscapes } = reader.scannedString;
  const from = reader.position;
  const to = isClosed ? end - 1 : end;
  reader.position = end;
  if (!hasEscapes) return textDecoder.decode(reader.bytes.subarray(from, to));
  const unescaped = new GrowableBytes(to - from);
  appendStringPart(reader.bytes, from, to, true, unescaped);
  return textDecoder.decode(unescaped.take());
}

/** Formats plain values as text, without white space. */
export function stringifyJson(value: JsonValue): string {
  const writer = new JsonWriter();
  writeJsonValue(writer, value);
  return textDecoder.decode(writer.take());
}

/** Writes plain values where a value is expected. */
export function writeJsonValue(writer: JsonWriter, value: JsonValue): void {
  switch (typeof value) {
    case 'string':
      writer.string(value);
      return;
    case 'number':
    case 'bigint':
      writer.number(value);
      return;
    case 'boolean':
      writer.boolean(value);
      return;
    case 'object':
      if (value === null) writer.null();
      else if (Array.isArray(value)) {
        writer.beginArray();
        for (const element of value) writeJsonValue(writer, element);
        writer.endArray();
      } else {
        writer.beginObject();
        for (const key of Object.keys(value)) {
          writer.key(key);
          writeJsonValue(writer, value[key] as JsonValue);
        }
        writer.endObject();
      }
      return;
    default:
      throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  }
}

/** A key named `__proto__` is an ordinary member. */
function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key !== '__proto__') object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
