import {
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { type RequestCodec, type ResponseCodec, RpcError } from '@millrace/http';
import { shortened } from '@millrace/protocol';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const utf8Encoder = new TextEncoder();
/** Unknown fields are dropped: they are not used, and keeping them would cost memory. */
const readOptions = { readUnknownFields: false };

/** Messages of other calls than inference are read at once, and small: names, versions, settings. */
const messageBytesMax = 64 * 1024;

/**
 * JSON that the generated code reads at once, within about five milliseconds: messages of calls other than ModelInfer have
 * no more, and longer ones of ModelInfer are read in slices.
 */
export const jsonAtOnceBytesMax = 32 * 1024;

/** Reads and writes a generated message, in protobuf's binary form and in its JSON. */
export function codecOf<Schema extends DescMessage>(
  schema: Schema,
  bytesMax: number = messageBytesMax,
): RequestCodec<MessageShape<Schema>> & ResponseCodec<MessageShape<Schema>> {
  return {
    bytesMax,
    fromProto: (bytes) => fromBinary(schema, bytes, readOptions),
    fromJson: (bytes) => {
      checkJsonLength(bytes, jsonAtOnceBytesMax);
      return readJson(() => fromJson(schema, jsonFrom(bytes)));
    },
    toProto: (message) => toBinary(schema, message),
    toJson: (message) => utf8Encoder.encode(JSON.stringify(toJson(schema, message))),
  };
}

/** The generated code quotes what it cannot read. */
const reasonCharactersMax = 512;

export function checkJsonLength(bytes: Uint8Array, bytesMax: number): void {
  if (bytes.length <= bytesMax) return;
  throw new RpcError(
    'resource_exhausted',
    `the JSON of the message has ${bytes.length} bytes, more than the ${bytesMax} allowed; send it as protobuf`,
  );
}

/** Shortens the error message of a reader. */
export function readJson<Message>(read: () => Message): Message {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || error.message.length <= reasonCharactersMax) throw error;
    throw new Error(shortened(error.message, reasonCharactersMax), { cause: error });
  }
}

/** No bytes at all stand for a message without fields. */
export function jsonFrom(bytes: Uint8Array): JsonValue {
  return bytes.length === 0 ? {} : (JSON.parse(utf8.decode(bytes)) as JsonValue);
}
