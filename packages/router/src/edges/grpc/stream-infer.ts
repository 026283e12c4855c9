/**
 * Many inferences on one call. Each request begins when it comes; answers leave in the order of the requests, and no
 * faster than the caller reads. A request that fails is answered in its place, and the stream goes on.
 */
import { type RequestStream, RpcError, type StreamCall } from '@millrace/http';
import { Cancellation, InferenceError } from '@millrace/protocol';
import type { StreamResponse } from './encode-stream-response.ts';
import type { CallHead, InferOperation, ReleasableResponse } from './infer.ts';
import type { InferMessage } from './infer-message.ts';

/** A message of the stream, or why it cannot be taken; then its id is not known. */
export type StreamedMessage = InferMessage | InferenceError;

/** What is used of the messages of a call, and of the call. */
export type StreamedRequests = Pick<RequestStream<StreamedMessage>, 'listen' | 'pause' | 'resume'>;
export type InferCall = CallHead &
  Pick<StreamCall<StreamResponse>, 'signal' | 'start' | 'send' | 'onRoom' | 'end' | 'fail' | 'whenEnded'>;

export interface StreamInferParts {
  readonly operation: InferOperation;
  /** Requests of one stream that are not answered, or whose answers are not sent, before the caller is held back. */
  readonly requestsMax: number;
  readonly errorFrom: (error: unknown) => RpcError;
}

/** A caller that sets this metadata to `true` wants the call itself to fail with the first request that does. */
const statusField = 'triton_grpc_error';

export class StreamInferOperation {
  readonly #parts: StreamInferParts;
  readonly #streams = new Set<InferStream>();

  constructor(parts: StreamInferParts) {
    this.#parts = parts;
  }

  serve(requests: StreamedRequests, call: InferCall): undefined {
    const stream = new InferStream(requests, call, this.#parts);
    this.#streams.add(stream);
    call.whenEnded(() => {
      this.#streams.delete(stream);
      stream.abandon();
    });
    stream.begin();
    return undefined;
  }

  /** The server goes: what came in is answered, then every stream ends. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }
}

/** The place of a request in the order of answers. */
interface Place {
  outcome:
    | { readonly response: StreamResponse; readonly release: () => void }
    | { readonly error: unknown }
    | undefined;
}

class InferStream {
  readonly #requests: StreamedRequests;
  readonly #call: InferCall;
  readonly #parts: StreamInferParts;
  readonly #cancellation = new Cancellation();
  readonly #caller: string;
  readonly #failsByStatus: boolean;
  /** In the order of the requests. */
  readonly #places: Place[] = [];
  #isHeldBack: boolean = false;
  #hasRoom: boolean = true;
  #isComplete: boolean = false;
  #isEnding: boolean = false;
  #isOver: boolean = false;

  constructor(requests: StreamedRequests, call: InferCall, parts: StreamInferParts) {
    this.#requests = requests;
    this.#call = call;
    this.#parts = parts;
    this.#caller = parts.operation.callerOf(call);
    this.#failsByStatus = call.metadata.get(statusField) === 'true';
  }

  begin(): void {
    const call = this.#call;
    call.signal.onCancel((reason) => {
      this.#cancellation.cancel(reason);
      // Nothing else ends a call that its caller has left.
      if (reason === 'cancelled') call.end();
    });
    // A caller may wait for the head of the answer before it sends anything.
    call.start();
    this.#requests.listen({
      onMessage: (message) => this.#take(message),
      onEnd: () => {
        this.#isComplete = true;
        this.#send();
      },
    });
  }

  /** Takes nothing more; the caller is told why once it has its answers. */
  end(): void {
    this.#isEnding = true;
    this.#requests.pause();
    this.#send();
  }

  /** The call is over: nobody waits for what is still on its way. */
  abandon(): void {
    this.#isOver = true;
    this.#cancellation.cancel('cancelled');
    for (const { outcome } of this.#places.splice(0)) {
      if (outcome !== undefined && 'release' in outcome) outcome.release();
    }
  }

  #take(message: StreamedMessage): void {
    const place: Place = { outcome: undefined };
    this.#places.push(place);
    if (this.#places.length >= this.#parts.requestsMax) {
      this.#isHeldBack = true;
      this.#requests.pause();
    }
    const id = message instanceof InferenceError ? '' : message.id;
    const answer =
      message instanceof InferenceError
        ? Promise.reject(message)
        : this.#parts.operation.answer(message, this.#caller, this.#cancellation);
    answer.then(
      (given) => this.#answered(place, given),
      (error: unknown) => {
        place.outcome = this.#failsByStatus ? { error } : { response: this.#refusal(id, error), release: () => {} };
        this.#send();
      },
    );
  }

  #answered(place: Place, { response, release }: ReleasableResponse): void {
    if (this.#isOver) {
      release();
      return;
    }
    place.outcome = { response: { errorMessage: '', response }, release };
    this.#send();
  }

  #refusal(id: string, error: unknown): StreamResponse {
    const { message } = this.#parts.errorFrom(error);
    return { errorMessage: message, response: { model: '', version: '', id, outputs: [] } };
  }

  #waitForRoom(): void {
    this.#hasRoom = false;
    this.#call.onRoom = () => {
      this.#hasRoom = true;
      this.#send();
    };
  }

  /** What stands at the head of the line and is known. */
  #send(): void {
    while (this.#hasRoom && !this.#isOver) {
      const outcome = this.#places[0]?.outcome;
      if (outcome === undefined) break;
      this.#places.shift();
      if ('error' in outcome) {
        this.#call.fail(outcome.error);
        return;
      }
      if (!this.#call.send(outcome.response, outcome.release)) this.#waitForRoom();
    }
    if (this.#isOver) return;
    if (this.#places.length === 0 && this.#isEnding) {
      this.#call.fail(new RpcError('unavailable', 'the server is shutting down; open the stream on another one'));
    } else if (this.#places.length === 0 && this.#isComplete) this.#call.end();
    else if (this.#isHeldBack && !this.#isEnding && this.#places.length < this.#parts.requestsMax) {
      this.#isHeldBack = false;
      this.#requests.resume();
    }
  }
}
