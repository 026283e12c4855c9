/** Many inferences on one call: messages in and out. The stream of the data plane decides order and back-pressure. */
import type { StreamWindowLimits } from '@millrace/core';
import { type RequestStream, RpcError, type StreamCall } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import type { InferAnswer, InferRequest } from '../../data-plane/infer.ts';
import type { InferStream, StreamEnding, StreamInput, StreamOutput } from '../../data-plane/streams/infer-stream.ts';
import type { StreamGateway } from '../../streams/stream-gateway.ts';
import type { CallFacts } from './call-turns.ts';
import { streamKeys } from './durable-request.ts';
import type { DurableFailure } from './durable-stream.ts';
import { DurableStreams } from './durable-streams.ts';
import type { StreamResponse } from './encode-stream-response.ts';
import type { GrpcInferOperation, StreamedRequest } from './infer.ts';
import type { InferMessage } from './infer-message.ts';

/** A message of the stream, or why it cannot be read; its id is unknown then. */
export type StreamedMessage = InferMessage | InferenceError;

/** The parts of a call and its messages that are used here. */
export type StreamedRequests = Pick<RequestStream<StreamedMessage>, 'listen' | 'pause' | 'resume' | 'done'>;
export type StreamInferCall = CallFacts &
  Pick<StreamCall<StreamResponse>, 'memory' | 'signal' | 'start' | 'send' | 'onRoom' | 'end' | 'fail' | 'whenEnded'>;

export interface StreamInferParts {
  readonly operation: GrpcInferOperation;
  readonly limits: StreamWindowLimits;
  readonly errorFrom: (error: unknown) => RpcError;
  /** Without it no request belongs to a durable stream. */
  readonly gateway?: StreamGateway | undefined;
}

/** A caller that sets this metadata to `true` wants the whole call to fail with the first failed request. */
const statusField = 'triton_grpc_error';

/** A message of the stream in progress. */
interface StreamedInput extends StreamInput {
  readonly id: string;
  finish: StreamInput['finish'];
  /** The caller wants a final response at the end of several answers, also where that has no outputs. */
  wantsEnd: boolean;
}

export class StreamInferOperation {
  readonly #parts: StreamInferParts;
  readonly #streams = new Set<StreamedCall>();

  constructor(parts: StreamInferParts) {
    this.#parts = parts;
  }

  serve(requests: StreamedRequests, call: StreamInferCall): undefined {
    const stream = new StreamedCall(requests, call, this.#parts);
    this.#streams.add(stream);
    call.whenEnded(() => {
      this.#streams.delete(stream);
      stream.abandon();
    });
    stream.begin();
    return undefined;
  }

  /** The server drains: accepted requests are answered, then every stream ends. */
  end(): void {
    for (const stream of this.#streams) stream.end();
  }
}

class StreamedCall {
  readonly #requests: StreamedRequests;
  readonly #call: StreamInferCall;
  readonly #parts: StreamInferParts;
  readonly #caller: string;
  readonly #failsByStatus: boolean;
  readonly #stream: InferStream<StreamedInput>;
  /** Made with the first request that belongs to a durable stream: most calls have none. */
  #durable: DurableStreams | undefined;
  #isHeldByAnswers: boolean = false;
  #isHeldByStreams: boolean = false;
  /** An answer was sent when there was no room: the next may be sent when there is. */
  #owesGrant: boolean = false;
  #ending: StreamEnding | undefined;

  constructor(requests: StreamedRequests, call: StreamInferCall, parts: StreamInferParts) {
    this.#requests = requests;
    this.#call = call;
    this.#parts = parts;
    this.#caller = parts.operation.callerOf(call);
    this.#failsByStatus = call.metadata.get(statusField) === 'true';
    this.#stream = parts.operation.openStream({
      limits: parts.limits,
      memory: call.memory,
      listener: {
        onOutput: (output) => this.#send(output),
        onHold: (isHeld) => {
          this.#isHeldByAnswers = isHeld;
          if (!this.#isHeldByStreams) this.#hold(isHeld);
        },
        onEnd: (ending) => this.#onEnd(ending),
      },
    });
  }

  begin(): void {
    const call = this.#call;
    call.signal.onCancel((reason) => {
      this.#stream.cancel(reason);
      // Nothing else ends a call whose caller has disconnected.
      if (reason === 'cancelled') call.end();
    });
    // A caller may wait for the head of the answer before it sends anything.
    call.start();
    this.#stream.grant(1);
    this.#requests.listen({
      keepsMessages: true,
      onMessage: (message, bytes) => {
        const { gateway } = this.#parts;
        if (gateway === undefined || message instanceof InferenceError || !message.parameters.has(streamKeys.id)) {
          this.#stream.input(this.#inputFrom(message, bytes));
        } else this.#durableOn(gateway).receive(message, () => this.#requests.done(bytes));
      },
      onEnd: () => {
        this.#durable?.endInput();
        this.#stream.endInput();
      },
    });
  }

  /** Accepts no more messages; the caller gets the reason after its answers. */
  end(): void {
    this.#stream.drain();
  }

  /** The call is over: requests in progress are cancelled. */
  abandon(): void {
    this.#stream.abandon();
    this.#durable?.detach();
  }

  #durableOn(gateway: StreamGateway): DurableStreams {
    const { operation } = this.#parts;
    this.#durable ??= new DurableStreams({
      gateway,
      caller: { caller: this.#caller, principal: '' },
      signal: this.#call.signal,
      memory: this.#call.memory,
      readTensors: (message, signal) => operation.readTensors(message, this.#caller, signal),
      send: (response) => this.#hasRoomAfter(response),
      refuse: (failure) => this.#refuse(failure),
      onHold: (isHeld) => {
        this.#isHeldByStreams = isHeld;
        if (!this.#isHeldByAnswers) this.#hold(isHeld);
      },
      onDone: () => this.#endIfDone(),
    });
    return this.#durable;
  }

  #hold(isHeld: boolean): void {
    if (isHeld) this.#requests.pause();
    else this.#requests.resume();
  }

  #inputFrom(message: StreamedMessage, bytes: number): StreamedInput {
    const { operation } = this.#parts;
    const onDone = (): void => this.#requests.done(bytes);
    if (message instanceof InferenceError) {
      const request = (): never => {
        throw message;
      };
      return { id: '', wantsEnd: false, finish: undefined, request, onDone };
    }
    const input: StreamedInput = {
      id: message.id,
      wantsEnd: false,
      finish: undefined,
      request: (signal) => {
        const read = operation.readStreamed(message, this.#caller, signal);
        return read instanceof Promise ? read.then((streamed) => requestOf(input, streamed)) : requestOf(input, read);
      },
      onDone,
    };
    return input;
  }

  #send({ input, result, isFinal }: StreamOutput<StreamedInput>): void {
    if (result instanceof InferenceError) {
      if (this.#failsByStatus) {
        this.#call.fail(result);
        return;
      }
      this.#write({ errorMessage: this.#messageOf(result), response: refused(input.id), isFinal }, nothing);
    } else if (result.isEnd !== true || input.wantsEnd) {
      this.#write({ errorMessage: '', response: result, isFinal }, () => result.release());
    } else {
      result.release();
      this.#stream.grant(1);
    }
  }

  #write(response: StreamResponse, release: () => void): void {
    if (this.#hasRoomAfter(response, release)) this.#stream.grant(1);
    else this.#owesGrant = true;
  }

  #hasRoomAfter(response: StreamResponse, release?: () => void): boolean {
    const hasRoom = this.#call.send(response, release);
    if (!hasRoom) this.#call.onRoom = () => this.#onRoom();
    return hasRoom;
  }

  #onRoom(): void {
    if (this.#owesGrant) {
      this.#owesGrant = false;
      this.#stream.grant(1);
    }
    this.#durable?.onRoom();
  }

  /** Triton's client passes on nothing but the text of an error: it names the code and the stream. */
  #refuse({ error, requestId, parameters }: DurableFailure): void {
    if (this.#failsByStatus) {
      this.#call.fail(error);
      return;
    }
    const about = Object.entries(parameters).map(([key, value]) => `${key}: ${value}`);
    const errorMessage = `${error.code}: ${this.#messageOf(error)} [${about.join(', ')}]`;
    const told = { ...parameters, [streamKeys.error]: error.code };
    this.#hasRoomAfter({ errorMessage, response: refused(requestId), isFinal: true, parameters: told });
  }

  #messageOf(error: InferenceError): string {
    return this.#parts.errorFrom(error.code === 'internal' && error.cause !== undefined ? error.cause : error).message;
  }

  #onEnd(ending: StreamEnding): void {
    this.#ending = ending;
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#ending === 'draining') {
      const why = 'the server is shutting down; open the stream on another one';
      this.#call.fail(new RpcError('unavailable', why));
    } else if (this.#ending === 'done' && this.#durable?.isDone !== false) this.#call.end();
  }
}

/** What is known of an input once it has been read. */
function requestOf(input: StreamedInput, { request, finish, wantsEnd }: StreamedRequest): InferRequest {
  input.finish = finish;
  input.wantsEnd = wantsEnd;
  return request;
}

function refused(id: string): Pick<InferAnswer, 'model' | 'version' | 'id' | 'outputs'> {
  return { model: '', version: '', id, outputs: [] };
}

function nothing(): void {}
