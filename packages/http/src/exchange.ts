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
  /** Room for what a handler made of these fields. A client that repeats its head gets the same fields, and it, again. */
  memo?: unknown;
}

/** Where a request came from, as far as the transport knows. */
export interface Peer {
  readonly address: string;
  readonly port: number;
  readonly isEncrypted: boolean;
  /** `ownerOfAddress` of the address, worked out once a connection: whom limits and shares count it for. */
  readonly owner: string;
  /** The operator named its address as that of a proxy whose word on its clients is believed. */
  readonly isTrustedProxy: boolean;
  /** DER of the client certificate that was verified in the handshake. */
  readonly certificate?: Uint8Array;
}

/** Takes a whole body without a promise: `onBody` or `onBodyFailed` is called, once. */
export interface BodyReceiver {
  onBody(body: Uint8Array): void;
  onBodyFailed(error: unknown): void;
}

/** A body arrives once: read it whole or piece by piece, not both. Not reading it is fine; the transport discards it. */
export interface RequestBody extends AsyncIterable<Uint8Array> {
  /** The declared length, if the client declared one. */
  readonly lengthBytes: number | undefined;
  /** The whole body, at most `bytesMax`; more is a `BodyTooLarge`, an early end a `BodyAborted`. */
  readAll(bytesMax: number): Promise<Uint8Array>;
  /** The same without a promise, for those who count every microsecond; the call may come before this returns. */
  giveAll(bytesMax: number, receiver: BodyReceiver): void;
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
  /** Fires when the client went away or reset the stream. */
  readonly signal: CancelSignal;
  readonly peer: Peer;
  readonly memory: RequestMemory;
}

/** What a request holds of the memory for requests: its body by itself, and what a handler makes of it. */
export interface RequestMemory {
  /** So much more is held, until the request is answered. Throws `MemoryRefused` where it cannot be. */
  hold(bytes: number): void;
  /** The owner has its share: what takes a place that others need as well should be refused instead of waiting in it. */
  readonly isWaiting: boolean;
  /** So much is not held any more. */
  give(bytes: number): void;
  /** Whether an answer of so many bytes may be sent: a large one only where its caller reads those before it. */
  hasRoomToAnswer(bytes: number): boolean;
}

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** One piece, several pieces sent in order without joining them, or pieces made as the client takes them. */
export type ResponseBody = Uint8Array | readonly Uint8Array[] | AsyncIterable<Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. `content-length`, `date` and what the version needs for framing are the transport's. */
  readonly headers: HeaderList;
  readonly body?: ResponseBody;
  /** Asked for after the body's last piece. */
  readonly trailers?: () => HeaderList;
  /** Called once, when the body has left for the kernel or never will: memory that the body views may be used again. */
  readonly release?: () => void;
}

export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** What the transport raises from a body; edges turn them into their own words. */
export class BodyTooLarge extends Error {
  readonly bytesMax: number;
  constructor(bytesMax: number) {
    super(`the request body is larger than ${bytesMax} bytes`);
    this.name = 'BodyTooLarge';
    this.bytesMax = bytesMax;
  }
}

/** The owner of a request has its share of the memory already, and the request has waited for it long enough. */
export class MemoryRefused extends Error {
  constructor() {
    super(
      'the requests and unread answers of this caller take as much memory as one caller may have now; wait for answers, or try again later',
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

/** Nobody waits for what was being done. */
export class CallerGone extends Error {
  constructor() {
    super('the caller went away');
    this.name = 'CallerGone';
  }
}

/** A listening server, whatever it speaks. */
export interface HttpServer {
  readonly host: string;
  readonly port: number;
  /** Takes no new connections or requests, lets those in progress finish, resolves when all are closed. */
  drain(): Promise<void>;
  /** Closes everything at once. */
  close(): Promise<void>;
}
