import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import type { RequestCodec, ResponseCodec } from '@millrace/http';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const utf8Encoder = new TextEncoder();
/** What a caller may have added is of no use to us, and keeping it would cost memory. */
const readOptions = { readUnknownFields: false };

/** Reads and writes a generated message, in protobuf's binary form and in its JSON. */
export function codecOf<Schema extends DescMessage>(
  schema: Schema,
): RequestCodec<MessageShape<Schema>> & ResponseCodec<MessageShape<Schema>> {
  return {
    fromProto: (bytes) => fromBinary(schema, bytes, readOptions),
    fromJson: (bytes) => fromJson(schema, jsonFrom(bytes)),
    toProto: (message) => toBinary(schema, message),
    toJson: (message) => utf8Encoder.encode(JSON.stringify(toJson(schema, message))),
  };
}

/** No bytes at all stand for a message without fields. */
export function jsonFrom(bytes: Uint8Array): JsonValue {
  return bytes.length === 0 ? {} : (JSON.parse(utf8.decode(bytes)) as JsonValue);
}
