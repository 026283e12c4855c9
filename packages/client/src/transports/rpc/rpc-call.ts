/**
 * The seam between methods and the protocols that carry them (gRPC, gRPC-Web, Connect): a path, messages, metadata, a
 * deadline and a status. It knows nothing of models, retries and other servers.
 */
import type { MillraceError } from '../../errors/millrace-error.ts';
import type { AttemptContext } from '../transport.ts';

/** Names are in lower case. One that comes several times is there several times, or once with values between commas. */
export interface RpcField {
  readonly name: string;
  readonly value: string;
}

/** What an error has beside its message: a `google.protobuf.Any`. */
export interface RpcDetail {
  /** The full name of the message. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** How a call has ended. */
export interface RpcOutcome {
  /** A status of gRPC, 0 to 16; `statusCode` names them. */
  readonly code: number;
  readonly message: string;
  readonly details: readonly RpcDetail[];
  /** Why the client says so; undefined: the server has said it. */
  readonly fault: MillraceError | undefined;
}

/** Called in order: the head where there is one, messages, the end once. */
export interface RpcAnswerListener {
  onHead(fields: readonly RpcField[]): void;
  /** The bytes are the listener's. */
  onMessage(message: Uint8Array): void;
  onEnd(outcome: RpcOutcome, trailers: readonly RpcField[]): void;
  /** What has to happen before more is read, where a listener has enough. Protocols with windows of their own need not ask. */
  readonly room?: () => Promise<void> | undefined;
}

/** A call under way. */
export interface OutgoingCall {
  /** Nobody waits any more: the listener hears nothing after it. */
  stop(): void;
}

export type AnswerKind = 'unary' | 'stream';

/** Makes calls that have one request message. */
export interface RpcCaller {
  /**
   * `path` is `/service/method`. `message` is in pieces; the first begins with `messagePrefixBytes` that describe it, as
   * `withPrefix` writes them.
   */
  call(
    path: string,
    context: AttemptContext,
    message: readonly Uint8Array[],
    kind: AnswerKind,
    listener: RpcAnswerListener,
  ): OutgoingCall;
  close(): void;
}

export const statusCode = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

/** Frames of durable streams, as messages. */
export const streamMethodPath = '/millrace.v1.InferenceService/Stream';

/** Before a message: a flag and its length as 32 bits. */
export const messagePrefixBytes = 5;

/** A message behind its prefix. */
export function withPrefix(message: Uint8Array): readonly Uint8Array[] {
  const prefix = new Uint8Array(messagePrefixBytes);
  new DataView(prefix.buffer).setUint32(1, message.length);
  return [prefix, message];
}
