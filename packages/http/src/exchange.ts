/**
 * The seam between sockets and edges: one request and one response type above every HTTP version, and above an
 * injected call that has no socket at all. A handler is a function from one to the other.
 */
import type { CancelSignal } from '@millrace/protocol';

/** Names are lower-case; a repeated field keeps its order. Pseudo-headers are not among them. */
export interface HeaderFields {
  get(name: string): string | undefined;
  getAll(name: string): readonly string[];
  has(name: string): boolean;
  entries(): Iterable<readonly [name: string, value: string]>;
  /**
   * A cache for what a handler derives from these fields. A client that repeats its head gets the same fields and
   * value.
   */
  memo?: unknown;
}

/** Where a request came from, as far as the transport knows. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  /** `ownerOfAddress` of the address, computed once per connection: the owner that limits and shares count it for. */
  readonly owner: string;
  /** The operator listed this address as a trusted proxy: what it says of its clients is believed. */
  readonly isTrustedProxy: boolean;
  /** DER of the client certificate that the handshake verified. */
  readonly certificate?: Uint8Array;
}

/** Takes a whole body without a promise: `onBody` or `onBodyFailed` is called, once. */
export interface BodyReceiver {
  onBody(body: Uint8Array): void;
  onBodyFailed(error: unknown): void;
}

/** Takes a whole body whose memory may be lent. */
export interface LentBodyReceiver {
  /**
   * `release` must be called once, when nothing reads the body any more: its memory is used for another body then. Until
   * then it counts as held by the request. A body that was placed comes in two parts: `body`, the head of the placement,
   * and `tail`, the rest.
   */
  onBody(body: Uint8Array, release: () => void, tail?: Uint8Array): void;
  onBodyFailed(error: unknown): void;
}

/** Memory that belongs to one body until it is released. */
export interface PlacedMemory {
  readonly bytes: Uint8Array;
  release(): void;
}

/**
 * Has a body received where it is needed: its beginning into memory of its own, the rest into memory of whoever works on it,
 * so that it is not copied again.
 */
export interface BodyPlacement {
  /** Bytes at the beginning of the body that are not placed. */
  readonly headBytes: number;
  /** Memory for the rest, of exactly this size; undefined: there is no room, and the body is received like any other. */
  lend(bytes: number): PlacedMemory | undefined;
}

/** A body can be read once: whole or piece by piece. If nobody reads it, the transport discards it. */
export interface RequestBody extends AsyncIterable<Uint8Array> {
  /** The declared length, if the client declared one. */
  readonly lengthBytes: number | undefined;
  /** The whole body, at most `bytesMax`; a larger one rejects with `BodyTooLarge`, an early end with `BodyAborted`. */
  readAll(bytesMax: number): Promise<Uint8Array>;
  /** The same without a promise, for hot paths; the reader may be called before this returns. */
  giveAll(bytesMax: number, receiver: BodyReceiver): void;
  /**
   * The same in memory that is lent, for receivers that say when they are finished with it. A large body of known length is
   * received where the placement wants it, if there is room.
   */
  lendAll(bytesMax: number, receiver: LentBodyReceiver, placement?: BodyPlacement): void;
}

export interface HttpRequest {
  readonly method: string;
  /** As sent, before the question mark, percent-encoding untouched. */
  readonly path: string;
  /** As sent, after the question mark; empty when there is none. */
  readonly query: string;
  readonly authority: string;
  readonly version: '1.0' | '1.1' | '2';
  readonly headers: HeaderFields;
  readonly body: RequestBody;
  /** Trailers, complete once the body has been read to its end. */
  readonly trailers: HeaderFields;
  /** Fires when the client disconnected or reset the stream. */
  readonly signal: CancelSignal;
  readonly peer: Peer;
  readonly memory: RequestMemory;
}

/** What a request holds of the memory for requests: its body, which is counted by itself, and what a handler adds. */
export interface RequestMemory {
  /** Holds this many bytes more until the request is answered. Throws `MemoryRefused` where there is no memory for them. */
  hold(bytes: number): void;
  /** The owner holds its share: refuse its work instead of letting it wait where others need the capacity as well. */
  readonly isWaiting: boolean;
  /** Releases this many bytes. */
  give(bytes: number): void;
  /** Whether an answer of this many bytes may be sent: a large one only if its caller reads the answers before it. */
  hasRoomToAnswer(bytes: number): boolean;
}

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** One piece, several pieces sent in order without joining them, or pieces produced as the client takes them. */
export type ResponseBody = Uint8Array | readonly Uint8Array[] | AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. The transport sets `content-length`, `date` and the fields that frame the message. */
  readonly headers: HeaderList;
  readonly body?: ResponseBody;
  /** Called after the body's last piece. */
  readonly trailers?: () => HeaderList;
  /** Called once, when the kernel has the body or never will: memory that the body views may be used again. */
  readonly release?: () => void;
  /** See `StandingResponse`. */
  readonly again?: () => StandingResponse;
}

/**
 * An answer without a body that depends on the request and on the state of the server alone, so that a client that repeats its
 * request can be answered without calling the handler. A response that a wrapper has changed is another object, and is not
 * repeated: its `again` does not return it.
 */
export interface StandingResponse extends HttpResponse {
  readonly body?: never;
  readonly trailers?: never;
  readonly release?: never;
  /** The answer that the same request gets now: this object while nothing has changed. */
  readonly again: () => StandingResponse;
}

export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** Errors that the transport raises from a body; each edge translates them into its protocol. */
export class BodyTooLarge extends Error {
  readonly bytesMax: number;
  constructor(bytesMax: number) {
    super(`the request body is larger than ${bytesMax} bytes`);
    this.name = 'BodyTooLarge';
    this.bytesMax = bytesMax;
  }
}

/** The owner of a request holds its share of the memory, and the request has waited for more as long as it may. */
export class MemoryRefused extends Error {
  constructor() {
    super(
      'the requests and unread answers of this caller hold as much memory as one caller may have now; wait for answers, or try again later',
    );
    this.name = 'MemoryRefused';
  }
}

export class BodyAborted extends Error {
  constructor(reason: string) {
    super(`the request body ended early: ${reason}`);
    this.name = 'BodyAborted';
  }
}

/** Nobody waits for the result any more. */
export class CallerGone extends Error {
  constructor() {
    super('the caller went away');
    this.name = 'CallerGone';
  }
}

/** A listening server, whatever its protocols. */
export interface HttpServer {
  readonly host: string;
  readonly port: number;
  /** Accepts no new connections or requests, lets those in progress finish, and resolves when all are closed. */
  drain(): Promise<void>;
  /** Closes everything at once. */
  close(): Promise<void>;
}
