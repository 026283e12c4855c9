/**
 * Services as data: a name, methods, and how their messages are read and written. The functions `unary`,
 * `serverStream`, `clientStream` and `bidi` make methods whose handlers are typed by their codecs.
 */
import type { CancelSignal } from '@millrace/protocol';
import type { BodyPlacement, Peer } from '../exchange.ts';
import type { MetadataWriter, RequestMetadata } from './metadata.ts';
import type { RequestStream } from './request-stream.ts';
import type { RpcError } from './rpc-error.ts';

/** A message's bytes, whole or in pieces that are sent in order without joining them. */
export type MessageBytes = Uint8Array | readonly Uint8Array[];

/** Decodes a request. A throw means that the bytes are not such a message; the caller gets `invalid_argument`. */
export interface RequestCodec<I> {
  /** The largest message, compressed and decompressed, where that is less than the server's limit. */
  readonly bytesMax?: number;
  /** A message that was placed (`PlaceMessage`) comes as its head and the rest, which is the tail. */
  fromProto(bytes: Uint8Array, tail?: Uint8Array): I;
  /** If left out, the method cannot be called with JSON. */
  fromJson?(bytes: Uint8Array): I;
}

export interface ResponseCodec<O> {
  toProto(message: O): MessageBytes;
  toJson?(message: O): MessageBytes;
}

/**
 * Where a large message is received, by the bytes of it that have come first and the number of all its bytes. Undefined: like
 * any other.
 */
export type PlaceMessage = (first: Uint8Array, messageBytes: number) => BodyPlacement | undefined;

/** What every handler and interceptor gets of a call. */
export interface RpcCall {
  readonly service: string;
  readonly method: string;
  readonly protocol: 'grpc' | 'grpc-web' | 'connect';
  readonly metadata: RequestMetadata;
  /** Sent before the first message. */
  readonly leading: MetadataWriter;
  /** Sent after the last message or with the error. */
  readonly trailing: MetadataWriter;
  /** Fires when the caller disconnected and when its deadline has passed. */
  readonly signal: CancelSignal;
  /** The time that the caller allows, counted from the arrival of the call. */
  readonly timeoutMs: number | undefined;
  readonly peer: Peer;
  /** The query of the request, which Connect calls by GET have; otherwise empty. */
  readonly query: string;
  /** For handlers that hold answers back: their memory is counted for the caller. */
  readonly memory: CallMemory;
  /** What the call is about, for logs; empty until a handler sets it. */
  subject: string;
  /** Ends the call with an error. */
  fail(error: unknown): void;
  /** Calls back once when the call has ended, in whatever way; at once when it has already ended. */
  whenEnded(listener: (error: RpcError | undefined) => void): void;
}

/** What a call holds of the memory for requests, in addition to its messages and what is being sent. */
export interface CallMemory {
  /** Whether an answer of this many bytes may be held: a large one only if the caller reads the answers before it. */
  hasRoomToKeep(bytes: number): boolean;
  count(bytes: number): void;
  give(bytes: number): void;
}

export interface UnaryCall<O> extends RpcCall {
  /** Answers later, without a promise. `release` is called when the message's memory may be used again. */
  answer(message: O, release?: () => void): void;
  /**
   * For a method with `isRequestLent`: nothing reads the request any more, and its memory is used for another one. To be
   * called once, unless the handler throws.
   */
  releaseRequest(): void;
}

export interface StreamCall<O> extends RpcCall {
  /** Sends the leading metadata now; otherwise the first message does. */
  start(): void;
  /** Sends at once. False: wait for `onRoom` (or `whenRoom`) before sending more, or memory grows. */
  send(message: O, release?: () => void): boolean;
  /** Called when there is room again, and when the call has ended. */
  onRoom: (() => void) | undefined;
  whenRoom(): Promise<void>;
  /** Ends the call successfully. */
  end(): void;
}

/** Returning nothing means that the handler answers or fails later, by the call. */
export type UnaryHandler<I, O> = (request: I, call: UnaryCall<O>) => O | Promise<O> | undefined;
export type ClientStreamHandler<I, O> = (requests: RequestStream<I>, call: UnaryCall<O>) => O | Promise<O> | undefined;
/**
 * Returns messages as an iterable, a promise of having sent all, or nothing: then it ends or fails later, by the call.
 */
export type StreamResult<O> = AsyncIterable<O> | Promise<void> | undefined;
export type ServerStreamHandler<I, O> = (request: I, call: StreamCall<O>) => StreamResult<O>;
export type BidiHandler<I, O> = (requests: RequestStream<I>, call: StreamCall<O>) => StreamResult<O>;

interface MethodOptions<I, O> {
  readonly name: string;
  readonly request: RequestCodec<I>;
  readonly response: ResponseCodec<O>;
}

interface Method extends MethodOptions<unknown, unknown> {
  /** The method has no side effects: Connect clients may call it by GET. */
  readonly isIdempotent: boolean;
  /** The memory of large requests is lent: the handler calls `releaseRequest` when it is finished with one. */
  readonly isRequestLent?: boolean;
  /** Of a method with `isRequestLent`. */
  readonly placeRequest?: PlaceMessage;
}

export type RpcMethod =
  | (Method & { readonly kind: 'unary'; readonly handle: UnaryHandler<unknown, unknown> })
  | (Method & { readonly kind: 'server-stream'; readonly handle: ServerStreamHandler<unknown, unknown> })
  | (Method & { readonly kind: 'client-stream'; readonly handle: ClientStreamHandler<unknown, unknown> })
  | (Method & { readonly kind: 'bidi'; readonly handle: BidiHandler<unknown, unknown> });

export interface RpcService {
  /** Full name, for instance `grpc.health.v1.Health`. */
  readonly name: string;
  readonly methods: readonly RpcMethod[];
}

/**
 * Runs around every call before its messages are read: calls `next` to continue, now or later, or `call.fail` to
 * refuse it. What is to happen afterwards is registered by `call.whenEnded`.
 */
export type Interceptor = (call: RpcCall, next: () => void) => void;

// A method's codecs and handler agree on their messages, which no one else reads: their types end here.
export function unary<I, O>(
  options: MethodOptions<I, O> & {
    readonly handle: UnaryHandler<I, O>;
    readonly isIdempotent?: boolean;
    readonly isRequestLent?: boolean;
    readonly placeRequest?: PlaceMessage;
  },
): RpcMethod {
  return { isIdempotent: false, ...options, kind: 'unary' } as RpcMethod;
}

export function serverStream<I, O>(
  options: MethodOptions<I, O> & { readonly handle: ServerStreamHandler<I, O> },
): RpcMethod {
  return { ...options, kind: 'server-stream', isIdempotent: false } as RpcMethod;
}

export function clientStream<I, O>(
  options: MethodOptions<I, O> & { readonly handle: ClientStreamHandler<I, O> },
): RpcMethod {
  return { ...options, kind: 'client-stream', isIdempotent: false } as RpcMethod;
}

export function bidi<I, O>(options: MethodOptions<I, O> & { readonly handle: BidiHandler<I, O> }): RpcMethod {
  return { ...options, kind: 'bidi', isIdempotent: false } as RpcMethod;
}
