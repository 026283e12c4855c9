/** One call of `inference.v1.InferenceService/StreamInfer`: a prompt in parts, and what is made of it, token by token. */
import { create } from '@bufbuild/protobuf';
import type { RequestListener, RequestStream, StreamCall } from '@millrace/http';
import { type EndedFrame, InferenceError, type OpenedFrame, quote, streamPayloadBytes } from '@millrace/protocol';
import {
  type InferRequest,
  type InferResponse,
  InferResponseSchema,
} from '../../../proto/generated/inference/v1/inference_pb.ts';
import type { EncodedOutput } from '../../../streams/stream-gateway.ts';
import { uint32Max } from '../../streams/field-cursor.ts';
import { checkStreamId, defaultStreamFrameLimits, tooLarge } from '../../streams/frame-limits.ts';
import { payloadCodec } from '../../streams/link-frame.ts';
import { AnswerQueue } from './answer-queue.ts';
import { callParametersOf, contextKey, namedContext } from './call-settings.ts';
import { asciiFrom, ContractLink, type ContractLinkOwner } from './contract-link.ts';
import { type ContractParts, mustView } from './contract-parts.ts';
import { outputTextOf } from './output-text.ts';
import { isLongResult, type ResultView } from './result-json.ts';

/** The parts of a call that are used here. */
export type TextCall = Pick<
  StreamCall<InferResponse>,
  'metadata' | 'peer' | 'signal' | 'memory' | 'trailing' | 'subject' | 'send' | 'onRoom' | 'end' | 'fail' | 'whenEnded'
>;
export type TextRequests = Pick<RequestStream<InferRequest>, 'pause' | 'resume'>;

/** Of a prompt, in all messages of a call together. */
export const promptBytesMax: number = defaultStreamFrameLimits.textBytesMax;

const how = `the metadata ${contextKey}`;

/** What a part of a prompt takes beside its text until all are there: a text that is joined of many short ones keeps them. */
const partBytes = 64;

export class TextStream implements RequestListener<InferRequest>, ContractLinkOwner {
  readonly #parts: ContractParts;
  readonly #call: TextCall;
  readonly #requests: TextRequests;
  readonly #link: ContractLink;
  readonly #answers: AnswerQueue<InferResponse>;
  #first: InferRequest | undefined;
  #opened: OpenedFrame | undefined;
  #prompt = '';
  #promptBytes = 0;
  #heldBytes = 0;
  #isPromptComplete: boolean = false;
  /** The last output: it is sent with the end, which follows at once. */
  #last: EncodedOutput | undefined;

  constructor(parts: ContractParts, call: TextCall, requests: TextRequests) {
    this.#parts = parts;
    this.#call = call;
    this.#requests = requests;
    const caller = parts.callerOf(call);
    this.#link = new ContractLink(parts.gateway, caller, this);
    this.#answers = new AnswerQueue({
      slices: parts.slices,
      owner: caller.caller,
      signal: call.signal,
      deliver: (response) => this.#deliver(response),
      onRoom: () => this.#link.onRoom(),
      onFailed: (error) => call.fail(error),
    });
    call.whenEnded(() => {
      this.#releasePrompt();
      this.#link.leave();
      // This releases what the call still holds of its connection.
      call.end();
    });
  }

  onMessage(message: InferRequest): void {
    try {
      if (this.#first === undefined) this.#open(message);
      else this.#take(message);
    } catch (error) {
      this.#call.fail(error);
    }
  }

  /** A client that is back may be silent; one that has sent no prompt will get nothing. */
  onEnd(): void {
    if (this.#first === undefined) {
      this.#call.fail(invalid('the call has no message; send one with input_text and end_of_prompt'));
    } else if (!this.#isPromptComplete) {
      this.#call.fail(
        invalid('the call has no more messages and its prompt is not complete; set end_of_prompt in the last'),
      );
    }
  }

  onOpened(opened: OpenedFrame): void {
    this.#opened = opened;
    this.#isPromptComplete = opened.acceptedInput > 0;
    this.#call.subject = opened.model;
    for (const warning of opened.warnings) this.#call.trailing.add('millrace-warning', asciiFrom(warning));
    try {
      this.#take(this.#first as InferRequest);
    } catch (error) {
      this.#call.fail(error);
      return;
    }
    this.#requests.resume();
  }

  onAccepted(): void {}

  onOutput(output: EncodedOutput): boolean {
    // There is one input, so the last output for it is the last of all.
    if (output.endOfOutput) {
      this.#last = output;
      return true;
    }
    return this.#send(output, false);
  }

  onEnded(ended: EndedFrame): void {
    const isDone = ended.outcome === 'done';
    const last = this.#last;
    if (last !== undefined) this.#send(last, isDone);
    else if (isDone) this.#send({ sequence: ended.outputs, payload: undefined }, true);
    this.#answers.whenSent(() => {
      if (isDone) this.#call.end();
      else this.#call.fail(new InferenceError(ended.code ?? 'internal', ended.message));
    });
  }

  onClosed(error: InferenceError | undefined): void {
    if (error === undefined) return;
    const { defaultContext } = this.#parts;
    const told =
      this.#opened === undefined ? defaultContext.explained(error, namedContext(this.#call.metadata), how) : error;
    this.#answers.whenSent(() => this.#call.fail(told));
  }

  #open(first: InferRequest): void {
    const { metadata } = this.#call;
    const { streamId, sequence } = first;
    this.#first = first;
    if (streamId !== '') checkStreamId(streamId);
    else if (sequence > 0) {
      throw invalid(`sequence is ${sequence} and stream_id is empty; name the stream whose responses you have seen`);
    }
    const named = namedContext(metadata);
    const isReturn = sequence > 0;
    // Messages are read on when it is known whether the stream has its prompt.
    this.#requests.pause();
    this.#link.open({
      streamId: streamId === '' ? undefined : streamId,
      mode: isReturn ? 'resume' : streamId === '' ? 'new' : 'either',
      // A return needs no context: it is that of the stream.
      context: isReturn ? named : this.#parts.defaultContext.orNamed(named, how),
      parameters: callParametersOf(metadata),
      resumeAfter: sequence,
    });
  }

  #take({ streamId, inputText, endOfPrompt }: InferRequest): void {
    const own = (this.#opened as OpenedFrame).streamId;
    if (streamId !== '' && streamId !== own) {
      throw invalid(
        `the call is for stream ${quote(own)}, and a message names ${quote(streamId)}; open another call for it`,
      );
    }
    if (this.#isPromptComplete) {
      const isRepeated = (this.#opened as OpenedFrame).acceptedInput > 0;
      if (isRepeated || inputText === '') return;
      throw new InferenceError(
        'input-after-end',
        'a message with input_text follows end_of_prompt; open another stream for it',
      );
    }
    this.#append(inputText);
    if (!endOfPrompt) return;
    if (this.#prompt === '') {
      throw invalid('the prompt is empty: no message up to end_of_prompt has input_text; send the prompt');
    }
    this.#isPromptComplete = true;
    const text = this.#prompt;
    this.#releasePrompt();
    this.#link.input({ sequence: 1, payload: { kind: 'text', text }, endOfInput: true });
  }

  #append(text: string): void {
    if (text === '') return;
    const bytes = streamPayloadBytes({ kind: 'text', text });
    if (this.#promptBytes + bytes > promptBytesMax) {
      throw tooLarge(`the prompt has more than the ${promptBytesMax} bytes allowed; send a shorter one`);
    }
    this.#call.memory.count(bytes + partBytes);
    this.#heldBytes += bytes + partBytes;
    this.#promptBytes += bytes;
    this.#prompt += text;
  }

  #releasePrompt(): void {
    this.#call.memory.give(this.#heldBytes);
    this.#prompt = '';
    this.#promptBytes = 0;
    this.#heldBytes = 0;
  }

  #send(output: Pick<EncodedOutput, 'sequence' | 'payload'>, isEnd: boolean): boolean {
    const { sequence } = output;
    if (sequence > uint32Max) {
      this.#call.fail(
        new InferenceError(
          'unsupported',
          `the stream has more responses than a uint32 can number (${uint32Max}); go on with millrace.v1.InferenceService/Stream, resume_after ${uint32Max}`,
        ),
      );
      return false;
    }
    const payload =
      output.payload === undefined ? ({ kind: 'none' } as const) : payloadCodec.decodeOutput(output.payload);
    const { streamId, model, version } = this.#opened as OpenedFrame;
    const parts = this.#parts;
    // Most outputs are texts, for which nothing has to be known of the model.
    const view: ResultView = {
      get isBatched() {
        return mustView(parts, model, version).isBatched;
      },
      get labels() {
        return mustView(parts, model, version).labels;
      },
    };
    const work = (function* () {
      const token = yield* outputTextOf(payload, view);
      return create(InferResponseSchema, { streamId, sequence, token, endOfStream: isEnd });
    })();
    return this.#answers.send(work, payload.kind === 'tensors' && isLongResult(payload.tensors));
  }

  #deliver(response: InferResponse): boolean {
    const hasRoom = this.#call.send(response);
    if (!hasRoom) this.#call.onRoom = () => this.#answers.onRoom();
    return hasRoom;
  }
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
