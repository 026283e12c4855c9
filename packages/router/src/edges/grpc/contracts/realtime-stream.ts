/** One call of `realtime.inference.InferenceService/PredictStream`: one durable stream. */
import type { RequestListener, RequestStream, StreamCall } from '@millrace/http';
import {
  type EndedFrame,
  InferenceError,
  type OpenedFrame,
  quote,
  type StreamPayload,
  streamPayloadBytes,
} from '@millrace/protocol';
import type { InferenceRequest, InferenceResponse } from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { parametersDigest } from '../../../streams/opening-record.ts';
import type { EncodedOutput } from '../../../streams/stream-gateway.ts';
import { DurableInputFlow } from '../durable-input-flow.ts';
import { outputTensorsOf } from '../output-tensors.ts';
import { AnswerQueue } from './answer-queue.ts';
import { asciiFrom, ContractLink, type ContractLinkOwner } from './contract-link.ts';
import { mustView } from './contract-parts.ts';
import { typedPayloadFrom } from './payload-inputs.ts';
import { errorResponse, originMember, type RealtimeVersion, resultResponse } from './realtime-answer.ts';
import type { RealtimeParts } from './realtime-parts.ts';
import { contextByField, type RealtimeRequest, realtimeRequestFrom, requestIdOf } from './realtime-request.ts';
import { isLongResult, resultJsonOf } from './result-json.ts';

/** The parts of a call that are used here. */
export type RealtimeCall = Pick<
  StreamCall<InferenceResponse>,
  | 'metadata'
  | 'peer'
  | 'signal'
  | 'memory'
  | 'leading'
  | 'trailing'
  | 'subject'
  | 'start'
  | 'send'
  | 'onRoom'
  | 'end'
  | 'fail'
  | 'whenEnded'
>;
export type RealtimeRequests = Pick<RequestStream<InferenceRequest>, 'pause' | 'resume' | 'done'>;

/** How the version of the first message is chosen, and told. */
export type ChooseVersion = (message: InferenceRequest) => RealtimeVersion;

interface MessageInHand {
  readonly request: RealtimeRequest;
  readonly bytes: number;
}

export class RealtimeStream implements RequestListener<InferenceRequest>, ContractLinkOwner {
  readonly keepsMessages = true;
  readonly #parts: RealtimeParts;
  readonly #call: RealtimeCall;
  readonly #requests: RealtimeRequests;
  readonly #choose: ChooseVersion;
  readonly #link: ContractLink;
  readonly #answers: AnswerQueue<InferenceResponse>;
  #version: RealtimeVersion;
  #first: RealtimeRequest | undefined;
  #opened: OpenedFrame | undefined;
  #inputs: DurableInputFlow | undefined;
  /** One message at a time: while it waits, the call is not read. */
  #inHand: MessageInHand | undefined;
  /** When the inputs of this call arrived, until they are answered. */
  readonly #arrivals = new Map<number, number>();
  #hasLast: boolean = false;
  #isOver: boolean = false;

  /** `lowest`: the version of an error that comes before one is chosen. */
  constructor(
    parts: RealtimeParts,
    call: RealtimeCall,
    requests: RealtimeRequests,
    lowest: RealtimeVersion,
    choose: ChooseVersion,
  ) {
    this.#parts = parts;
    this.#call = call;
    this.#requests = requests;
    this.#version = lowest;
    this.#choose = choose;
    const caller = parts.callerOf(call);
    this.#link = new ContractLink(parts.gateway, caller, this);
    this.#answers = new AnswerQueue({
      slices: parts.slices,
      owner: caller.caller,
      signal: call.signal,
      deliver: (response) => this.#deliver(response),
      onRoom: () => this.#link.onRoom(),
      onFailed: (error) => this.#failNow(error, ''),
    });
    call.whenEnded(() => {
      this.#isOver = true;
      this.#release();
      this.#inputs?.release();
      this.#link.leave();
      // This releases what the call still holds of its connection.
      call.end();
    });
  }

  onMessage(message: InferenceRequest, bytes: number): void {
    if (this.#isOver) {
      this.#requests.done(bytes);
      return;
    }
    let request: RealtimeRequest | undefined;
    try {
      const version = this.#first === undefined ? this.#choose(message) : this.#version;
      request = realtimeRequestFrom(message, this.#call.metadata);
      this.#inHand = { request, bytes };
      if (this.#first === undefined) this.#open(request, version);
      else this.#check(request, message);
      this.#pump();
    } catch (error) {
      if (request === undefined) this.#requests.done(bytes);
      this.#release();
      this.#fail(error, requestIdOf(message));
    }
  }

  /** Without an id nobody can send more: the inputs are over. With one, another call may. */
  onEnd(): void {
    const first = this.#first;
    if (first === undefined) this.#fail(invalid('the call has no message; send one with a payload'), '');
    else if (first.streamId !== undefined) this.#link.finish();
    else if (!this.#hasLast) {
      const sequence = this.#inputs?.next ?? 1;
      this.#link.input({ sequence, payload: { kind: 'none' }, endOfInput: true });
    }
  }

  onOpened(opened: OpenedFrame): void {
    const { leading } = this.#call;
    this.#opened = opened;
    this.#inputs = new DurableInputFlow(opened.acceptedInput, opened.inputCredit, this.#call.memory);
    this.#call.subject = opened.model;
    leading.add('millrace-stream-id', opened.streamId);
    leading.add('millrace-accepted-input', String(opened.acceptedInput));
    for (const warning of opened.warnings) leading.add('millrace-warning', asciiFrom(warning));
    this.#call.start();
    this.#pumpOn();
  }

  onAccepted(input: number, credit: OpenedFrame['inputCredit'] | undefined): void {
    this.#inputs?.accept(input, credit);
    this.#pumpOn();
  }

  onOutput(output: EncodedOutput): boolean {
    const { sequence, inputSequence, endOfOutput } = output;
    const { streamId, model, version } = this.#opened as OpenedFrame;
    const inputs = this.#inputs as DurableInputFlow;
    const requestId = inputs.requestIdOf(inputSequence) || `${streamId}/${inputSequence}`;
    const arrivedAt = this.#arrivals.get(inputSequence);
    if (endOfOutput) {
      inputs.forgetAnswered(inputSequence);
      this.#arrivals.delete(inputSequence);
    }
    const tensors = outputTensorsOf(output.payload);
    const origin = {
      model,
      version,
      stream_id: streamId,
      sequence,
      input_sequence: inputSequence,
      end_of_output: endOfOutput,
    };
    const parts = this.#parts;
    const chosen = this.#version;
    const work = (function* () {
      const view = mustView(parts, model, version);
      const json = yield* resultJsonOf(tensors, view, originMember(chosen, origin));
      const latencyMs = arrivedAt === undefined ? 0 : parts.clock.now() - arrivedAt;
      return resultResponse(chosen, requestId, json, latencyMs);
    })();
    return this.#answers.send(work, isLongResult(tensors));
  }

  onEnded({ outcome, code, message, outputs }: EndedFrame): void {
    const { trailing } = this.#call;
    trailing.add('millrace-stream-outcome', outcome);
    trailing.add('millrace-stream-outputs', String(outputs));
    if (outcome === 'done') this.#answers.whenSent(() => this.#call.end());
    else this.#fail(new InferenceError(code ?? 'internal', message), '');
  }

  onClosed(error: InferenceError | undefined): void {
    if (error === undefined) this.#endUnlessStranded();
    else if (this.#opened !== undefined) this.#fail(error, '');
    else {
      const { context, requestId } = this.#first as RealtimeRequest;
      this.#fail(this.#parts.defaultContext.explained(error, context, contextByField), requestId);
    }
  }

  #open(first: RealtimeRequest, version: RealtimeVersion): void {
    const { streamId, context, parameters, resumeAfter = 0 } = first;
    this.#version = version;
    this.#first = first;
    const isReturn = resumeAfter > 0;
    if (isReturn && streamId === undefined) {
      throw invalid(`metadata["sequence"] is ${resumeAfter} without metadata["stream-id"]; name the stream to resume`);
    }
    this.#link.open({
      streamId,
      mode: isReturn ? 'resume' : streamId === undefined ? 'new' : 'either',
      // A return needs no context: it is that of the stream.
      context: isReturn ? context : this.#parts.defaultContext.orNamed(context, contextByField),
      parameters,
      resumeAfter,
    });
  }

  /** One call carries one stream, in one version. */
  #check(request: RealtimeRequest, message: InferenceRequest): void {
    const first = this.#first as RealtimeRequest;
    if (request.context !== '' && request.context !== first.context) {
      throw invalid(
        `the call is for context ${quote(first.context)}, not ${quote(request.context)}; open another call`,
      );
    }
    if (request.streamId !== undefined && request.streamId !== first.streamId) {
      throw invalid(
        `the call is for stream ${quote(first.streamId ?? '')}, not ${quote(request.streamId)}; open another call`,
      );
    }
    if (this.#choose(message) !== this.#version) {
      throw invalid(`the call speaks ${this.#version.name}, and a message another version; open another call`);
    }
    if (request.hasParameters && parametersDigest(request.parameters) !== parametersDigest(first.parameters)) {
      throw invalid('the stream was opened with other parameters; repeat them or leave them out');
    }
  }

  #pumpOn(): void {
    const requestId = this.#inHand?.request.requestId ?? '';
    try {
      this.#pump();
    } catch (error) {
      this.#release();
      this.#fail(error, requestId);
    }
  }

  /** Gives the message in hand to the stream when that may have it. */
  #pump(): void {
    const inHand = this.#inHand;
    if (inHand === undefined) return;
    const inputs = this.#inputs;
    const { request } = inHand;
    const isInput = request.isInput || request.isLast;
    if (inputs === undefined || (isInput && !inputs.hasRoomFor(request.inputSequence ?? inputs.next))) {
      this.#requests.pause();
      return;
    }
    if (isInput) this.#give(request, inputs);
    this.#release();
    this.#requests.resume();
  }

  #give(request: RealtimeRequest, inputs: DurableInputFlow): void {
    const { model, version, acceptedInput, streamId } = this.#opened as OpenedFrame;
    if (this.#hasLast && request.inputSequence === undefined) {
      throw new InferenceError('input-after-end', 'an input follows end_of_stream; open another stream for it');
    }
    if (request.inputSequence === undefined && acceptedInput > 0) {
      throw invalid(
        `stream ${streamId} has ${acceptedInput} inputs already; number this one by metadata["input-sequence"], or send no payload to only resume`,
      );
    }
    const sequence = request.inputSequence ?? inputs.next;
    const view = () => mustView(this.#parts, model, version);
    const payload: StreamPayload = request.isInput
      ? typedPayloadFrom(request.contentType, request.payload, view)
      : { kind: 'none' };
    if (request.isLast) this.#hasLast = true;
    if (!inputs.add(sequence, streamPayloadBytes(payload), request.requestId)) return;
    this.#arrivals.set(sequence, this.#parts.clock.now());
    this.#link.input({ sequence, payload, endOfInput: request.isLast, deadlineMs: request.timeoutMs });
  }

  #release(): void {
    const inHand = this.#inHand;
    this.#inHand = undefined;
    if (inHand !== undefined) this.#requests.done(inHand.bytes);
  }

  /** The client has ended its call, and everything accepted is answered. */
  #endUnlessStranded(): void {
    const inputs = this.#inputs;
    const [stranded] = inputs?.stranded ?? [];
    if (inputs === undefined || stranded === undefined) {
      this.#answers.whenSent(() => this.#call.end());
      return;
    }
    const message = `input ${stranded} was not applied, because input ${inputs.accepted + 1} is missing; send both on another call`;
    this.#fail(new InferenceError('sequence-gap', message), inputs.requestIdOf(stranded));
  }

  #fail(error: unknown, requestId: string): void {
    this.#answers.whenSent(() => this.#failNow(error, requestId));
  }

  /** The text first, and the status with it. */
  #failNow(error: unknown, requestId: string): void {
    if (this.#isOver) return;
    const told = this.#parts.errorFrom(error);
    this.#call.send(errorResponse(this.#version, requestId, told.message));
    this.#call.fail(told);
  }

  #deliver(response: InferenceResponse): boolean {
    const hasRoom = this.#call.send(response);
    if (!hasRoom) this.#call.onRoom = () => this.#answers.onRoom();
    return hasRoom;
  }
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
