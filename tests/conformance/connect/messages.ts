/** The suite's messages as protobuf-es gives them; the suite's own files say what the fields mean. */
import {
  type DescMessage,
  type FileRegistry,
  fromBinary,
  fromJson,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import type { Any } from '@bufbuild/protobuf/wkt';
import type { RequestCodec, ResponseCodec } from '@millrace/http';

export interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

export interface ErrorDefinition {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

export interface UnaryDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly response:
    | { readonly case: 'responseData'; readonly value: Uint8Array }
    | { readonly case: 'error'; readonly value: ErrorDefinition }
    | { readonly case: undefined };
}

export interface StreamDefinition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly responseData: readonly Uint8Array[];
  readonly error?: ErrorDefinition;
}

export type UnaryRequest = Message & { readonly responseDefinition?: UnaryDefinition };
export type StreamRequest = Message & { readonly responseDefinition?: StreamDefinition; readonly fullDuplex?: boolean };

export interface ServerCompatRequest {
  readonly useTls: boolean;
  readonly clientTlsCert: Uint8Array;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: { readonly cert: Uint8Array; readonly key: Uint8Array };
}

export const conformancePackage = 'connectrpc.conformance.v1';

export function mustFindMessage(registry: FileRegistry, name: string): DescMessage {
  const message = registry.getMessage(`${conformancePackage}.${name}`);
  if (message === undefined) throw new Error(`the suite has no message ${name}`);
  return message;
}

export function conformanceCodecOf<M>(registry: FileRegistry, name: string): RequestCodec<M> & ResponseCodec<Message> {
  const schema = mustFindMessage(registry, name);
  return {
    fromProto: (bytes) => fromBinary(schema, bytes) as unknown as M,
    fromJson: (bytes) => fromJson(schema, JSON.parse(Buffer.from(bytes).toString()), { registry }) as unknown as M,
    toProto: (message) => toBinary(schema, message),
    toJson: (message) => Buffer.from(JSON.stringify(toJson(schema, message, { registry }))),
  };
}
