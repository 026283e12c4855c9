/**
 * One stream of requests. Each starts when it arrives; answers are sent in the order of the requests, and no faster than the
 * caller takes them. A failed request is answered in its place, and the stream continues. Core's `StreamWindow` decides what
 * is sent when, and whether more inputs may come.
 */
import { StreamWindow, type WindowEntry } from '@millrace/core';
import { Cancellation, type CancelReason, type CancelSignal, InferenceError } from '@millrace/protocol';
import { AnswerFlow } from '../answer-flow.ts';
import type { InferAnswer, InferRequest } from '../infer.ts';
import { bytesOfTensors } from '../sliced-work/copy-slices.ts';
import type { InferStream, StreamInput, StreamOptions, StreamOutput } from './infer-stream.ts';

/** Answers of one request that a decoupled model may give before the caller has taken the first of them. */
const answersAheadMax = 8;

export interface StreamSessionParts<Input extends StreamInput> extends StreamOptions<Input> {
  readonly inferMany: (request: InferRequest, signal: CancelSignal, flow: AnswerFlow) => Promise<InferAnswer>;
}

interface Due<Input extends StreamInput> {
  readonly output: StreamOutput<Input>;
  /** Called when it is taken. */
  readonly onTaken: () => void;
}

interface Entry<Input extends StreamInput> {
  readonly input: Input;
  readonly cancellation: Cancellation;
  readonly place: WindowEntry<Due<Input>>;
  /** Resolves when `finish` is done for all its answers so far; undefined: nothing is pending. */
  finishing: Promise<void> | undefined;
}

export class StreamSession<Input extends StreamInput> implements InferStream<Input> {
  readonly #parts: StreamSessionParts<Input>;
  readonly #window: StreamWindow<Due<Input>>;
  readonly #entries = new Map<WindowEntry<Due<Input>>, Entry<Input>>();
  #credit = 0;
  #isTaking: boolean = false;
  #isHeld: boolean = false;
  #hasAllInput: boolean = false;
  #isDraining: boolean = false;
  #isOver: boolean = false;
  /** Resolves when all inputs so far are decoded; undefined: they are. */
  #reading: Promise<void> | undefined = undefined;

  constructor(parts: StreamSessionParts<Input>) {
    this.#parts = parts;
    this.#window = new StreamWindow(parts.limits);
  }

  input(input: Input): void {
    const place = this.#window.add();
    const entry: Entry<Input> = { input, cancellation: new Cancellation(), place, finishing: undefined };
    this.#entries.set(place, entry);
    this.#isTaking = true;
    const answered = this.#answer(entry);
    this.#isTaking = false;
    answered.then(
      (answer) => {
        input.onDone();
        afterFinishing(entry, () => this.#end(entry, answer));
      },
      (error: unknown) => {
        input.onDone();
        afterFinishing(entry, () => this.#settle(entry, asInferenceError(error)));
      },
    );
    this.#pace();
  }

  endInput(): void {
    this.#hasAllInput = true;
    this.#send();
  }

  drain(): void {
    this.#isDraining = true;
    this.#hold(true);
    this.#send();
  }

  grant(outputs: number): void {
    this.#credit += outputs;
    this.#send();
  }

  cancel(reason: CancelReason): void {
    for (const { cancellation } of this.#entries.values()) cancellation.cancel(reason);
  }

  abandon(): void {
    this.#isOver = true;
    const all = [...this.#entries.values()];
    this.#entries.clear();
    for (const { outputs } of this.#window.takeAll()) for (const { output } of outputs) release(output);
    for (const { cancellation } of all) cancellation.cancel('cancelled');
  }

  #answer(entry: Entry<Input>): Promise<InferAnswer> {
    const { input, cancellation, place } = entry;
    const ask = (request: InferRequest): Promise<InferAnswer> => {
      const flow = new AnswerFlow((answer) => this.#give(entry, answer, flow));
      flow.grant(answersAheadMax);
      return this.#parts.inferMany(this.#watchSlotWait(request, place), cancellation, flow);
    };
    const finished = (answer: InferAnswer): InferAnswer | Promise<InferAnswer> =>
      input.finish === undefined || answer.isEnd === true ? answer : finish(input, answer, cancellation);
    try {
      if (this.#reading === undefined) {
        const request = input.request(cancellation);
        if (!(request instanceof Promise)) return ask(request).then(finished);
        return this.#readBefore(request).then(ask).then(finished);
      }
      const read = this.#reading.then(() => input.request(cancellation));
      return this.#readBefore(read).then(ask).then(finished);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Later inputs are decoded after it. */
  #readBefore(read: Promise<InferRequest>): Promise<InferRequest> {
    const done = read.then(nothing, nothing).then(() => {
      if (this.#reading === done) this.#reading = undefined;
    });
    this.#reading = done;
    return read;
  }

  /** The request with a listener that notes when its sequence has to wait for a slot. */
  #watchSlotWait(request: InferRequest, place: WindowEntry<Due<Input>>): InferRequest {
    const { target } = request;
    if (target.sequence === undefined) return request;
    const onSlotWait = (): void => {
      this.#window.noteSlotWait(place);
      if (!this.#isTaking) this.#pace();
    };
    return { ...request, target: { ...target, sequence: { ...target.sequence, onSlotWait } } };
  }

  /** One of several answers of a decoupled model. */
  #give(entry: Entry<Input>, answer: InferAnswer, flow: AnswerFlow): void {
    const { input, cancellation, place } = entry;
    const give = (finished: InferAnswer): void => {
      const bytes = bytesOfTensors(finished.outputs);
      const isKept = !this.#isOver && this.#parts.memory.hasRoomToKeep(bytes);
      const output = { input, result: finished, isFinal: false };
      if (!isKept || !this.#window.put(place, { output: { output, onTaken: () => flow.grant(1) }, bytes })) {
        finished.release();
        if (!this.#isOver && !isKept) this.#refuse(entry, memoryRefusal());
        return;
      }
      this.#parts.memory.count(bytes);
      this.#send();
    };
    if (input.finish === undefined) {
      give(answer);
      return;
    }
    // One after the other, so that the answers of a request keep their order, and its end comes last.
    entry.finishing = (entry.finishing ?? Promise.resolve())
      .then(() => finish(input, answer, cancellation))
      .then(give, (error: unknown) => this.#refuse(entry, asInferenceError(error)));
  }

  #end(entry: Entry<Input>, answer: InferAnswer): void {
    if (this.#isOver) {
      answer.release();
      return;
    }
    const bytes = bytesOfTensors(answer.outputs);
    if (this.#parts.memory.hasRoomToKeep(bytes)) {
      if (this.#settle(entry, answer, bytes)) this.#parts.memory.count(bytes);
      else answer.release();
      this.#send();
    } else {
      answer.release();
      this.#settle(entry, memoryRefusal());
    }
  }

  #refuse(entry: Entry<Input>, error: InferenceError): void {
    this.#settle(entry, error);
    entry.cancellation.cancel('cancelled');
  }

  #settle(entry: Entry<Input>, result: InferAnswer | InferenceError, bytes = 0): boolean {
    const output = { input: entry.input, result, isFinal: true };
    const isFirst = this.#window.settle(entry.place, {
      output: { output, onTaken: () => this.#entries.delete(entry.place) },
      bytes,
    });
    if (result instanceof InferenceError) this.#send();
    return isFirst;
  }

  /** Holds the caller back, or lets it resume when there is room. */
  #pace(): void {
    if (this.#isOver) return;
    if (this.#window.isStuck) {
      this.#refuseSlotWaits();
      return;
    }
    this.#hold(this.#isDraining || this.#window.isFull(this.#credit > 0));
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#parts.listener.onHold(isHeld);
  }

  /** Refuses the sequences that wait for a slot: so many requests came after them that the stream could never continue. */
  #refuseSlotWaits(): void {
    const { slotWaitRequestsMax, slotWaitBytesMax } = this.#parts.limits;
    for (const place of this.#window.slotWaits()) {
      const entry = this.#entries.get(place);
      if (entry !== undefined) this.#refuse(entry, slotRefusal(slotWaitRequestsMax, slotWaitBytesMax));
    }
    this.#send();
  }

  /** Sends the outputs that are due, as many as the caller accepts. */
  #send(): void {
    while (this.#credit > 0 && !this.#isOver) {
      const next = this.#window.takeNext();
      if (next === undefined) break;
      this.#credit -= 1;
      // From here on it counts as memory being sent.
      this.#parts.memory.give(next.bytes);
      this.#parts.listener.onOutput(next.output.output);
      next.output.onTaken();
    }
    if (this.#isOver) return;
    if (this.#window.isEmpty && (this.#isDraining || this.#hasAllInput)) {
      this.#isOver = true;
      this.#parts.listener.onEnd(this.#isDraining ? 'draining' : 'done');
    } else this.#pace();
  }
}

function afterFinishing({ finishing }: Entry<StreamInput>, end: () => void): void {
  if (finishing === undefined) end();
  else void finishing.then(end);
}

async function finish(input: StreamInput, answer: InferAnswer, signal: CancelSignal): Promise<InferAnswer> {
  try {
    return await (input.finish as NonNullable<StreamInput['finish']>)(answer, signal);
  } catch (error) {
    answer.release();
    throw error;
  }
}

function release({ output: { result } }: Due<StreamInput>): void {
  if (!(result instanceof InferenceError)) result.release();
}

function memoryRefusal(): InferenceError {
  return new InferenceError(
    'caller-full',
    'the unread answers of the stream take more memory than this caller may hold; read faster, or open fewer streams',
  );
}

function slotRefusal(requestsMax: number, bytesMax: number): InferenceError {
  return new InferenceError(
    'model-full',
    `the sequence has no slot, and while it waited its stream reached the limit of ${requestsMax} requests ` +
      `(streamSlotWaitRequestsMax) or ${bytesMax} bytes of answers (streamSlotWaitBytesMax) behind it; end ` +
      'sequences before you start more on the same stream, or start them on another stream',
  );
}

function asInferenceError(error: unknown): InferenceError {
  return error instanceof InferenceError
    ? error
    : new InferenceError('internal', 'internal error of the server', { cause: error });
}

function nothing(): void {}
