/**
 * Calls a handler without a socket, doing what a socket would do around it: bodies in pieces, cancellation, failures as
 * a plain 500, and memory released once the caller has taken the body. For tests and for programs that embed a server.
 */
import { Cancellation, type CancelSignal, neverCancelled } from '@millrace/protocol';
import { answerFrom, bodyLengthBytes, isPieceList, mayCarryBody, ownFields, releaseOnce } from '../answer.ts';
import type {
  HeaderFields,
  HeaderList,
  HttpHandler,
  HttpRequest,
  HttpResponse,
  Peer,
  RequestMemory,
} from '../exchange.ts';
import { noHeaderFields, RawHeaderFields } from '../raw-header-fields.ts';
import { type InjectedBody, InjectedRequestBody } from './request-body.ts';
import { splitTarget } from './request-target.ts';
import { unlessCancelled } from './unless-cancelled.ts';

export interface InjectedRequest {
  readonly method?: string;
  /** Path and query as in a request line. */
  readonly target: string;
  readonly headers?: HeaderList;
  readonly body?: InjectedBody;
  readonly trailers?: HeaderList;
  readonly peer?: Peer;
  /** Fires when the caller no longer wants the answer, as a closed connection would. */
  readonly signal?: CancelSignal;
  readonly onError?: (error: unknown) => void;
}

/** The head of an answer, and its body as it is produced. Reading to the end, or stopping early, releases the body. */
export interface InjectedStream {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: AsyncIterable<Uint8Array>;
  /** Complete once the body has been read to its end. */
  readonly trailers: HeaderFields;
}

export interface InjectedResponse {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
  readonly trailers: HeaderFields;
  text(): string;
}

/** The call was cancelled, or its answer broke off. */
export class ExchangeAborted extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(`the call ended early: ${reason}`, options);
    this.name = 'ExchangeAborted';
  }
}

const localPeer: Peer = {
  address: '127.0.0.1',
  port: 0,
  isEncrypted: false,
  owner: '127.0.0.1',
  isTrustedProxy: false,
};

/** Calls the handler and reads the whole answer. Rejects with `ExchangeAborted` when there is none. */
export async function inject(handler: HttpHandler, request: InjectedRequest): Promise<InjectedResponse> {
  const stream = await injectStreaming(handler, request);
  const pieces: Uint8Array[] = [];
  for await (const piece of stream.body) pieces.push(piece);
  const body = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  const { status, headers } = stream;
  return { status, headers, body, trailers: stream.trailers, text: () => new TextDecoder().decode(body) };
}

/** Calls the handler and returns the head of its answer with a body to be read piece by piece. */
export async function injectStreaming(handler: HttpHandler, injected: InjectedRequest): Promise<InjectedStream> {
  const onError = injected.onError ?? (() => {});
  const method = injected.method ?? 'GET';
  const cancellation = new Cancellation();
  const stopListening = (injected.signal ?? neverCancelled).onCancel((reason) => cancellation.cancel(reason));
  const answered = answerFrom(handler, requestFrom(injected, method, cancellation), onError);
  try {
    const response = await unlessCancelled(answered, cancellation, callerGone);
    return new TakenAnswer(response, method, cancellation, onError, stopListening);
  } catch (error) {
    // The handler will still answer, and nobody takes the answer: release it.
    void answered.then((late) => releaseOnce(late, onError)());
    throw error;
  }
}

function callerGone(): Error {
  return new ExchangeAborted('the caller went away');
}

function requestFrom(injected: InjectedRequest, method: string, signal: CancelSignal): HttpRequest {
  const target = splitTarget(injected.target);
  let trailers = noHeaderFields;
  const body = new InjectedRequestBody(injected.body, signal, () => {
    trailers = new RawHeaderFields((injected.trailers ?? []).flat());
  });
  const headers: string[] = (injected.headers ?? []).flat();
  if (injected.body !== undefined && body.lengthBytes !== undefined) {
    headers.push('content-length', String(body.lengthBytes));
  }
  const fields = new RawHeaderFields(headers);
  return {
    method,
    path: target.path,
    query: target.query,
    authority: target.authority ?? fields.get('host') ?? 'localhost',
    version: '1.1',
    headers: fields,
    body,
    get trailers() {
      return trailers;
    },
    signal,
    peer: injected.peer ?? localPeer,
    memory: callerMemory,
  };
}

/** A caller in this process passes its own memory, which is not counted. */
const callerMemory: RequestMemory = {
  hold: () => {},
  isWaiting: false,
  give: () => {},
  hasRoomToAnswer: () => true,
};

class TakenAnswer implements InjectedStream {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: AsyncIterable<Uint8Array>;
  trailers: HeaderFields = noHeaderFields;
  readonly #signal: CancelSignal;
  readonly #onError: (error: unknown) => void;
  readonly #end: () => void;

  constructor(
    response: HttpResponse,
    method: string,
    signal: CancelSignal,
    onError: (error: unknown) => void,
    stopListening: () => void,
  ) {
    const lengthBytes = bodyLengthBytes(response.body);
    const hasBody = mayCarryBody(method, response.status) && lengthBytes !== 0;
    const fields = ownFields(response.headers).flat();
    if (lengthBytes !== undefined && response.trailers === undefined && response.status !== 204) {
      fields.push('content-length', String(lengthBytes));
    }
    const release = releaseOnce(response, onError);
    this.status = response.status;
    this.headers = new RawHeaderFields(fields);
    this.#signal = signal;
    this.#onError = onError;
    // A caller may leave before it takes the body; then only its signal says so.
    const forget = signal.onCancel(release);
    this.#end = () => {
      release();
      forget();
      stopListening();
    };
    this.body = this.#take(response, mayCarryBody(method, response.status));
    if (!hasBody) this.#end();
  }

  async *#take(response: HttpResponse, mayHaveBody: boolean): AsyncGenerator<Uint8Array> {
    const { body } = response;
    try {
      if (mayHaveBody && body !== undefined) {
        // Copied (not by `slice`, which is a view for a Buffer): the memory may be used again after its release.
        if (body instanceof Uint8Array) yield new Uint8Array(body);
        else if (isPieceList(body)) for (const piece of body) yield new Uint8Array(piece);
        else yield* this.#pull(body);
      }
      if (mayHaveBody && response.trailers !== undefined) {
        this.trailers = new RawHeaderFields(response.trailers().flat());
      }
    } finally {
      this.#end();
    }
  }

  async *#pull(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const iterator = pieces[Symbol.asyncIterator]();
    let isFinished = false;
    try {
      for (;;) {
        const step = await unlessCancelled(iterator.next(), this.#signal, callerGone);
        if (step.done === true) {
          isFinished = true;
          return;
        }
        if (step.value.byteLength > 0) yield new Uint8Array(step.value);
      }
    } catch (error) {
      if (error instanceof ExchangeAborted) throw error;
      isFinished = true;
      this.#onError(error);
      throw new ExchangeAborted('the server failed while it produced the body');
    } finally {
      if (!isFinished) void iterator.return?.().then(undefined, () => {});
    }
  }
}
