/** A durable stream on a call of ModelStreamInfer: its requests as frames for the host, the frames of the host as answers. */
import type { CallMemory } from '@millrace/http';
import {
  type EndedFrame,
  InferenceError,
  type OpenedFrame,
  type OpenFrame,
  type OpenMode,
  type StreamPayload,
  streamPayloadBytes,
  streamProtocolVersion,
  type Tensor,
} from '@millrace/protocol';
import { parametersDigest } from '../../streams/opening-record.ts';
import type { EncodedOutput, StreamCaller, StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import { StreamConversation } from '../streams/stream-call.ts';
import { DurableInputFlow } from './durable-input-flow.ts';
import { type DurableRequest, streamKeys } from './durable-request.ts';
import type { StreamResponse } from './encode-stream-response.ts';
import { outputTensorsOf } from './output-tensors.ts';

/** What became of a request, or of the stream, other than an answer of the model. */
export interface DurableFailure {
  readonly error: InferenceError;
  readonly requestId: string;
  readonly parameters: Readonly<Record<string, string | number>>;
}

/** The call, as one of its streams uses it. */
export interface DurableStreamHolder {
  readonly memory: Pick<CallMemory, 'count' | 'give'>;
  /** False: there is no room for more, and `onRoom` is to be called when there is. */
  send(response: StreamResponse): boolean;
  refuse(failure: DurableFailure): void;
  /** It was opened, or may take more inputs. */
  onReady(): void;
  /** Nothing more comes of it on this call. `reason`: for requests that come for it nevertheless. */
  onClosed(stream: DurableStream, reason: InferenceError): void;
}

export class DurableStream {
  readonly id: string;
  readonly #holder: DurableStreamHolder;
  readonly #conversation: StreamConversation;
  /** The request that attached the call to the stream. */
  readonly #first: DurableRequest;
  readonly #mode: OpenMode;
  #parametersDigest: string | undefined;
  #model = '';
  #version = '';
  #inputs: DurableInputFlow | undefined;
  #ended: EndedFrame | undefined;
  /** For the next answer. */
  #warning = '';
  #wantsEnd: boolean = false;

  constructor(gateway: StreamGateway, caller: StreamCaller, first: DurableRequest, holder: DurableStreamHolder) {
    this.id = first.streamId;
    this.#holder = holder;
    this.#first = first;
    this.#mode = modeFor(first);
    this.#conversation = new StreamConversation(gateway, caller, {
      send: (frame) => this.#send(frame),
      close: (error) => this.#close(error),
    });
    this.#conversation.receive(openFrameFor(first, this.#mode));
  }

  get isOpened(): boolean {
    return this.#inputs !== undefined;
  }

  /** Throws for a request that does not fit the stream. */
  check(request: DurableRequest): void {
    const { context, parameters, isInput, sequence } = request;
    const first = this.#first;
    if (isInput && sequence === undefined && this.#mode !== 'new') {
      throw new InferenceError(
        'invalid-request',
        `number the inputs of a stream that may have some already, by parameter '${streamKeys.sequence}'`,
      );
    }
    if (context !== first.context && context !== '' && first.context !== '') {
      throw conflict(`it is a stream of ${first.context}, not of ${context}`);
    }
    if (request === first || Object.keys(parameters).length === 0) return;
    this.#parametersDigest ??= parametersDigest(first.parameters);
    if (parametersDigest(parameters) !== this.#parametersDigest) {
      throw conflict('it was opened with other parameters; repeat them or leave them out');
    }
  }

  isReadyFor({ isInput, sequence }: DurableRequest): boolean {
    const inputs = this.#inputs;
    return inputs !== undefined && (!isInput || inputs.hasRoomFor(sequence ?? inputs.next));
  }

  /** To be called when it is ready for the request. */
  receive(request: DurableRequest, tensors: readonly Tensor[]): void {
    const inputs = this.#inputs as DurableInputFlow;
    if (request.wantsEnd) this.#wantsEnd = true;
    if (!request.isInput) {
      this.#answer(request.id, true, { [streamKeys.accepted]: inputs.accepted });
      return;
    }
    const sequence = request.sequence ?? inputs.next;
    const payload: StreamPayload = tensors.length === 0 ? { kind: 'none' } : { kind: 'tensors', tensors };
    if (!inputs.add(sequence, streamPayloadBytes(payload), request.id)) return;
    const { isLast: endOfInput, deadlineMs } = request;
    this.#conversation.receive({ kind: 'input', sequence, payload, endOfInput, deadlineMs });
  }

  /** The call has room again. */
  onRoom(): void {
    this.#conversation.onRoom();
  }

  /** No request follows: it is closed when those that came are answered. */
  finish(): void {
    this.#conversation.finish();
  }

  /** The call is over: the stream waits for a resume. */
  detach(): void {
    this.#inputs?.release();
    this.#conversation.detach();
  }

  #send(frame: StreamLinkFrame): boolean {
    if (frame.kind === 'output') return this.#sendOutput(frame);
    if (frame.kind === 'opened') this.#noteOpened(frame);
    else if (frame.kind === 'accepted') {
      this.#inputs?.accept(frame.input, frame.inputCredit);
      this.#holder.onReady();
    } else if (frame.kind === 'ended') this.#ended = frame;
    // A draining server closes the connection with the same reason.
    return true;
  }

  #noteOpened({ model, version, acceptedInput, inputCredit, warnings }: OpenedFrame): void {
    this.#model = model;
    this.#version = version;
    this.#inputs = new DurableInputFlow(acceptedInput, inputCredit, this.#holder.memory);
    this.#warning = warnings.join('; ');
    this.#holder.onReady();
  }

  #sendOutput({ sequence, inputSequence, payload, endOfOutput }: EncodedOutput): boolean {
    const requestId = this.#inputs?.requestIdOf(inputSequence) ?? '';
    if (endOfOutput) this.#inputs?.forgetAnswered(inputSequence);
    // As Triton: the end of several answers is told only to those who ask for it.
    if (payload === undefined && !this.#wantsEnd) return true;
    const outputs = outputTensorsOf(payload);
    const parameters = { [streamKeys.output]: sequence, [streamKeys.sequence]: inputSequence };
    return this.#answer(requestId, endOfOutput, parameters, outputs);
  }

  #answer(
    id: string,
    isFinal: boolean,
    parameters: Readonly<Record<string, string | number>>,
    outputs: readonly Tensor[] = [],
  ): boolean {
    const warning = this.#warning;
    this.#warning = '';
    return this.#holder.send({
      errorMessage: '',
      response: { model: this.#model, version: this.#version, id, outputs },
      isFinal,
      parameters: {
        [streamKeys.id]: this.id,
        ...parameters,
        ...(warning === '' ? {} : { [streamKeys.warning]: warning }),
      },
    });
  }

  #close(error: InferenceError | undefined): void {
    const ended = this.#ended;
    if (ended !== undefined) this.#tellEnded(ended);
    else if (error === undefined) this.#refuseStranded();
    else this.#refuse(error, this.#inputs === undefined ? this.#first.id : '', {});
    this.#inputs?.release();
    this.#holder.onClosed(this, reasonOf(ended) ?? error ?? overError());
  }

  #tellEnded({ outcome, code, message, outputs }: EndedFrame): void {
    const parameters = { [streamKeys.outcome]: outcome, [streamKeys.outputs]: outputs };
    if (outcome === 'done') this.#answer('', true, parameters);
    else this.#refuse(new InferenceError(code ?? 'internal', message), '', parameters);
  }

  /** The client has ended its call: nothing that is missing can come on it. */
  #refuseStranded(): void {
    const inputs = this.#inputs;
    if (inputs === undefined) return;
    const { accepted } = inputs;
    for (const sequence of inputs.stranded) {
      const message = `input ${sequence} was not applied, because input ${accepted + 1} is missing; send both on another call`;
      const error = new InferenceError('sequence-gap', message);
      this.#refuse(error, inputs.requestIdOf(sequence), { [streamKeys.sequence]: sequence });
    }
  }

  #refuse(error: InferenceError, requestId: string, parameters: DurableFailure['parameters']): void {
    this.#holder.refuse({ error, requestId, parameters: { [streamKeys.id]: this.id, ...parameters } });
  }
}

/**
 * A request without an input only resumes. Inputs without numbers begin a stream: on one that has inputs, nobody could tell
 * whether they were sent before.
 */
function modeFor({ isInput, sequence }: DurableRequest): OpenMode {
  if (!isInput) return 'resume';
  return sequence === undefined ? 'new' : 'either';
}

function openFrameFor({ streamId, context, parameters, resumeAfter }: DurableRequest, mode: OpenMode): OpenFrame {
  return {
    kind: 'open',
    streamId,
    mode,
    context,
    parameters,
    resumeAfter: resumeAfter ?? 0,
    protocolVersions: [streamProtocolVersion],
  };
}

function reasonOf(ended: EndedFrame | undefined): InferenceError | undefined {
  if (ended === undefined) return undefined;
  return ended.code === undefined ? overError() : new InferenceError(ended.code, ended.message);
}

function overError(): InferenceError {
  return new InferenceError('input-after-end', 'the stream is over on this call; open a new one, or resume this one');
}

function conflict(why: string): InferenceError {
  return new InferenceError('stream-conflict', `the request does not fit its stream: ${why}`);
}
