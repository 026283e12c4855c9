/** The durable streams of one call of ModelStreamInfer. One request is in hand at a time: while it waits, the call is not read. */
import type { CallMemory } from '@millrace/http';
import { type CancelSignal, InferenceError, type Tensor } from '@millrace/protocol';
import type { StreamCaller, StreamGateway } from '../../streams/stream-gateway.ts';
import { type DurableRequest, durableRequestFrom, streamKeys } from './durable-request.ts';
import { type DurableFailure, DurableStream, type DurableStreamHolder } from './durable-stream.ts';
import type { StreamResponse } from './encode-stream-response.ts';
import type { InferMessage } from './infer-message.ts';

/** Streams that are over on the call and remembered, so that requests that were on their way do not attach to them again. */
const closedStreamsMax = 1024;
/** Of one of them: its id, and an error with its stack. */
const closedStreamBytes = 2048;

export interface DurableStreamsParts {
  readonly gateway: StreamGateway;
  readonly caller: StreamCaller;
  readonly signal: CancelSignal;
  /** What the call remembers of requests and streams is counted for its caller. */
  readonly memory: Pick<CallMemory, 'count' | 'give'>;
  /** A promise where the tensors take long to read. Throws, or rejects, with an `InferenceError`. */
  readonly readTensors: (message: InferMessage, signal: CancelSignal) => readonly Tensor[] | Promise<readonly Tensor[]>;
  /** False: there is no room for more, and `onRoom` is to be called when there is. */
  readonly send: (response: StreamResponse) => boolean;
  readonly refuse: (failure: DurableFailure) => void;
  /** Tells the call to hold back further requests, or to resume. */
  readonly onHold: (isHeld: boolean) => void;
  /** Every request was answered, and none follows. */
  readonly onDone: () => void;
}

interface RequestInHand {
  readonly request: DurableRequest;
  readonly tensors: readonly Tensor[];
  readonly stream: DurableStream;
  readonly onTaken: () => void;
}

export class DurableStreams implements DurableStreamHolder {
  readonly #parts: DurableStreamsParts;
  readonly #streams = new Map<string, DurableStream>();
  /** Why requests of these streams are refused, by id. */
  readonly #closed = new Map<string, InferenceError>();
  #inHand: RequestInHand | undefined;
  #isHeld: boolean = false;
  #isReading: boolean = false;
  #hasAllInput: boolean = false;
  #isOver: boolean = false;

  constructor(parts: DurableStreamsParts) {
    this.#parts = parts;
  }

  get memory(): DurableStreamsParts['memory'] {
    return this.#parts.memory;
  }

  /** Whether nothing is left to be told. */
  get isDone(): boolean {
    return this.#streams.size === 0 && this.#inHand === undefined && !this.#isReading;
  }

  /** Not to be called while requests are held back. `onTaken`: the memory of the message is no longer read. */
  receive(message: InferMessage, onTaken: () => void): void {
    let request: DurableRequest;
    let tensors: readonly Tensor[] | Promise<readonly Tensor[]>;
    try {
      request = durableRequestFrom(message);
      tensors = this.#parts.readTensors(message, this.#parts.signal);
    } catch (error) {
      this.#refuseMessage(message, error);
      onTaken();
      return;
    }
    if (!(tensors instanceof Promise)) {
      this.#admit(request, tensors, onTaken);
      return;
    }
    this.#isReading = true;
    this.#pace();
    const read = (isRead: () => void): void => {
      this.#isReading = false;
      isRead();
      this.#pace();
    };
    tensors.then(
      (all) => read(() => this.#admit(request, all, onTaken)),
      (error: unknown) =>
        read(() => {
          this.#refuseMessage(message, error);
          onTaken();
        }),
    );
  }

  /** No request follows. May be called more than once. */
  endInput(): void {
    if (this.#hasAllInput) return;
    this.#hasAllInput = true;
    for (const stream of [...this.#streams.values()]) stream.finish();
    this.#tellIfDone();
  }

  /** The call has room again. */
  onRoom(): void {
    for (const stream of this.#streams.values()) stream.onRoom();
  }

  /** The call is over: its streams wait for a resume. */
  detach(): void {
    this.#isOver = true;
    for (const stream of this.#streams.values()) stream.detach();
    this.#streams.clear();
    for (const id of [...this.#closed.keys()]) this.#forgetClosed(id);
    this.#inHand?.onTaken();
    this.#inHand = undefined;
  }

  send(response: StreamResponse): boolean {
    return this.#parts.send(response);
  }

  refuse(failure: DurableFailure): void {
    if (!this.#isOver) this.#parts.refuse(failure);
  }

  onReady(): void {
    const inHand = this.#inHand;
    if (inHand === undefined || !inHand.stream.isReadyFor(inHand.request)) return;
    this.#inHand = undefined;
    this.#give(inHand);
    this.#pace();
  }

  onClosed(stream: DurableStream, reason: InferenceError): void {
    this.#streams.delete(stream.id);
    this.#noteClosed(stream.id, reason);
    const inHand = this.#inHand;
    if (inHand?.stream === stream) {
      this.#inHand = undefined;
      // Where the stream was not opened, its refusal is the answer.
      if (stream.isOpened) this.#refuseRequest(inHand.request, reason);
      inHand.onTaken();
      this.#pace();
    }
    this.#tellIfDone();
  }

  #admit(request: DurableRequest, tensors: readonly Tensor[], onTaken: () => void): void {
    if (this.#isOver) {
      onTaken();
      return;
    }
    let stream: DurableStream;
    try {
      stream = this.#streams.get(request.streamId) ?? this.#attached(request);
      stream.check(request);
    } catch (error) {
      this.#refuseRequest(request, error);
      onTaken();
      return;
    }
    const inHand: RequestInHand = { request, tensors, stream, onTaken };
    if (stream.isReadyFor(request)) this.#give(inHand);
    else {
      this.#inHand = inHand;
      this.#pace();
    }
  }

  #attached(request: DurableRequest): DurableStream {
    const { gateway, caller } = this.#parts;
    const reason = this.#closed.get(request.streamId);
    if (reason !== undefined) {
      if (request.resumeAfter === undefined) throw reason;
      this.#forgetClosed(request.streamId);
    }
    const stream = new DurableStream(gateway, caller, request, this);
    this.#streams.set(request.streamId, stream);
    return stream;
  }

  #give({ request, tensors, stream, onTaken }: RequestInHand): void {
    stream.receive(request, tensors);
    onTaken();
  }

  #noteClosed(id: string, reason: InferenceError): void {
    if (this.#isOver) return;
    this.#forgetClosed(id);
    this.#closed.set(id, reason);
    this.memory.count(closedStreamBytes);
    if (this.#closed.size <= closedStreamsMax) return;
    const [oldest] = this.#closed.keys();
    this.#forgetClosed(oldest as string);
  }

  #forgetClosed(id: string): void {
    if (this.#closed.delete(id)) this.memory.give(closedStreamBytes);
  }

  #refuseMessage({ id, parameters }: InferMessage, error: unknown): void {
    const streamId = parameters.get(streamKeys.id);
    const named = streamId?.kind === 'string' ? { [streamKeys.id]: streamId.value } : {};
    this.refuse({ error: inferenceErrorFrom(error), requestId: id, parameters: named });
  }

  #refuseRequest({ streamId, sequence, id }: DurableRequest, error: unknown): void {
    const parameters = {
      [streamKeys.id]: streamId,
      ...(sequence === undefined ? {} : { [streamKeys.sequence]: sequence }),
    };
    this.refuse({ error: inferenceErrorFrom(error), requestId: id, parameters });
  }

  #pace(): void {
    const isHeld = this.#isReading || this.#inHand !== undefined;
    if (isHeld === this.#isHeld || this.#isOver) return;
    this.#isHeld = isHeld;
    this.#parts.onHold(isHeld);
  }

  #tellIfDone(): void {
    if (this.#hasAllInput && this.isDone && !this.#isOver) this.#parts.onDone();
  }
}

function inferenceErrorFrom(error: unknown): InferenceError {
  if (error instanceof InferenceError) return error;
  return new InferenceError('internal', 'internal error of the server', { cause: error });
}
