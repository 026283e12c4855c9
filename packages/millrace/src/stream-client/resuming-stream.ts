/**
 * A durable stream as a client should use it: inputs are kept until they are accepted and sent within the credit, lost
 * connections are resumed after the last output with growing pauses, and only `ended` ends. The commands `stream` and
 * `drill` know nothing else of the protocol.
 */
import { randomUUID } from 'node:crypto';
import { errorCatalogue, type JsonObject, type StreamCredit } from '@millrace/protocol';
import { GrpcCall } from './grpc-call.ts';
import type { GrpcCallStatus, GrpcCallStatusName } from './grpc-status.ts';
import type { EndedJson, OpenedJson, OutputJson, ServerFrameJson, StreamInputJson } from './stream-frames.ts';

export interface ResumingStreamListener {
  /** Every frame as it came. */
  onFrame?(frame: string): void;
  onOpened?(opened: OpenedJson, isResumed: boolean): void;
  /** Each once and in order. `frame`: as it came. */
  onOutput(output: OutputJson, frame: string): void;
  /** The connection is lost and is made again after a pause. */
  onLost?(status: GrpcCallStatus, lastOutput: number, pauseMs: number): void;
  /** Resolves when the next connection should be made; instead of the pause. */
  beforeResume?(): Promise<void>;
}

export interface ResumingStreamOptions {
  readonly url: string;
  readonly streamId: string;
  readonly mode: 'either' | 'resume';
  readonly context: string;
  readonly parameters: JsonObject;
  /** The last output that was handled before; 0: none. */
  readonly resumeAfter: number;
  readonly outputCredit: StreamCredit;
  /** A connection on which the stream is not open after so long is given up, and made again. */
  readonly openMsMax: number;
  /** Without an open connection for so long, the stream is given up. */
  readonly lostMsMax: number;
  readonly listener: ResumingStreamListener;
  /** In [0, 1). */
  readonly random: () => number;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
}

/** The stream is not ended, and this client cannot go on with it. */
export class StreamGivenUp extends Error {
  readonly status: GrpcCallStatus;

  constructor(status: GrpcCallStatus, message: string) {
    super(message);
    this.name = 'StreamGivenUp';
    this.status = status;
  }
}

const pauseMsMin = 100;
const pauseMsMax = 5000;

/** Statuses without a code of the catalogue after which another connection may do better. */
const lossNames: readonly GrpcCallStatusName[] = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'DEADLINE_EXCEEDED',
  'RESOURCE_EXHAUSTED',
  'INTERNAL',
  'UNAVAILABLE',
];

interface KeptInput {
  readonly frame: string;
  readonly bytes: number;
}

export class ResumingStream {
  /** Rejects with `StreamGivenUp`. */
  readonly whenEnded: Promise<EndedJson>;
  readonly #options: ResumingStreamOptions;
  #resolve: (ended: EndedJson) => void = () => {};
  #reject: (error: StreamGivenUp) => void = () => {};
  #call: GrpcCall | undefined;
  /** Connections so far, of this client alone: one that arrives late takes the stream from no later one. */
  #attempt = 0;
  readonly #clientId = randomUUID();
  #isOver: boolean = false;
  /** On the connection of now. */
  #isOpen: boolean = false;
  #hasOpened: boolean = false;
  #lastOutput: number;
  #acknowledged: number;
  #handled: number;
  /** Since when there is no open connection. */
  #lostAt: number;
  #pauseMs = pauseMsMin;
  #timer: NodeJS.Timeout | undefined;
  readonly #kept = new Map<number, KeptInput>();
  #lastInput = 0;
  #sentInput = 0;
  #accepted = 0;
  #credit: StreamCredit = { messages: 0, bytes: 0 };
  #wakeSender: () => void = () => {};
  #cancelReason: string | undefined;

  constructor(options: ResumingStreamOptions) {
    this.#options = options;
    this.#lastOutput = options.resumeAfter;
    this.#acknowledged = options.resumeAfter;
    this.#handled = options.resumeAfter;
    this.#lostAt = options.now();
    this.whenEnded = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever waits for it hears of it; whoever only sends does not have to.
    this.whenEnded.catch(() => {});
    this.#connect();
  }

  /** The last output that has come. */
  get lastOutput(): number {
    return this.#lastOutput;
  }

  /** Resolves when another input may follow: the server has credit for this one, or the stream is over. */
  async send({ fields, bytes }: StreamInputJson, endOfInput: boolean): Promise<void> {
    this.#lastInput += 1;
    const sequence = this.#lastInput;
    // A stream that is taken up has it already.
    if (this.#hasOpened && sequence <= this.#accepted) return;
    const end = endOfInput ? { endOfInput } : {};
    this.#kept.set(sequence, { frame: JSON.stringify({ input: { sequence, ...fields, ...end } }), bytes });
    this.#pump();
    while (!this.#isOver && this.#kept.has(sequence) && this.#sentInput < sequence) {
      await new Promise<void>((resolve) => {
        this.#wakeSender = resolve;
      });
    }
  }

  /** What was handled up to this output may be forgotten by the server. `isSoon`: with the next ones. */
  acknowledge(output: number, isSoon = false): void {
    this.#handled = Math.max(this.#handled, output);
    const { outputCredit } = this.#options;
    if (!this.#isOpen || this.#handled === this.#acknowledged) return;
    if (isSoon && (this.#handled - this.#acknowledged) * 4 < outputCredit.messages) return;
    this.#acknowledged = this.#handled;
    this.#call?.send(JSON.stringify({ acknowledge: { output: this.#handled, outputCredit } }));
  }

  /** The stream ends as `cancelled`, however often the connection is lost before. */
  cancel(reason: string): void {
    this.#cancelReason = reason;
    this.#sendCancel();
  }

  /** Leaves the stream as it is. */
  leave(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#call?.close();
    this.#wakeSender();
  }

  #connect(): void {
    const { url, streamId, mode, context, parameters, outputCredit, openMsMax } = this.#options;
    this.#isOpen = false;
    const call: GrpcCall = new GrpcCall(
      url,
      { method: 'millrace.v1.InferenceService/Stream' },
      {
        onMessage: (message) => {
          if (this.#call === call) this.#hear(message);
        },
        onEnd: (status) => {
          if (this.#call === call) this.#lost(status);
        },
      },
    );
    this.#call = call;
    this.#attempt += 1;
    const [resumeAfter, clientId, attempt] = [this.#lastOutput, this.#clientId, this.#attempt];
    const openMode = this.#hasOpened ? 'resume' : mode;
    call.send(
      JSON.stringify({
        open: { streamId, mode: openMode, context, parameters, resumeAfter, outputCredit, clientId, attempt },
      }),
    );
    this.#timer = setTimeout(() => {
      call.close();
      this.#lost({ name: 'DEADLINE_EXCEEDED', message: `the stream was not open within ${openMsMax / 1000} s` });
    }, openMsMax);
  }

  #hear(message: string): void {
    if (this.#isOver) return;
    const frame = JSON.parse(message) as ServerFrameJson;
    this.#options.listener.onFrame?.(message);
    if (frame.opened !== undefined) this.#hearOpened(frame.opened);
    else if (frame.accepted !== undefined) this.#accept(frame.accepted.input, frame.accepted.inputCredit);
    else if (frame.output !== undefined) this.#hearOutput(frame.output, message);
    else if (frame.ended !== undefined) {
      this.leave();
      this.#resolve(frame.ended);
    }
  }

  #hearOpened(opened: OpenedJson): void {
    clearTimeout(this.#timer);
    const isResumed = this.#hasOpened || opened.nextOutput > 1 || opened.acceptedInput > 0;
    this.#isOpen = true;
    this.#hasOpened = true;
    this.#pauseMs = pauseMsMin;
    this.#sentInput = opened.acceptedInput;
    this.#acknowledged = this.#lastOutput;
    this.#options.listener.onOpened?.(opened, isResumed);
    this.#accept(opened.acceptedInput, opened.inputCredit);
    this.#sendCancel();
  }

  #hearOutput(output: OutputJson, frame: string): void {
    // Outputs never change: one that was seen before says nothing new.
    if (output.sequence <= this.#lastOutput) return;
    this.#lastOutput = output.sequence;
    this.#options.listener.onOutput(output, frame);
  }

  #accept(input: number, credit: StreamCredit | undefined): void {
    this.#accepted = Math.max(this.#accepted, input);
    this.#sentInput = Math.max(this.#sentInput, input);
    if (credit !== undefined) this.#credit = credit;
    for (const sequence of this.#kept.keys()) if (sequence <= input) this.#kept.delete(sequence);
    this.#pump();
    this.#wakeSender();
  }

  #pump(): void {
    if (!this.#isOpen) return;
    let bytes = 0;
    for (const [sequence, input] of this.#kept) {
      bytes += input.bytes;
      // One input alone is for the server to judge.
      const isAlone = sequence === this.#accepted + 1;
      const hasCredit = sequence <= this.#accepted + this.#credit.messages && (bytes <= this.#credit.bytes || isAlone);
      if (!hasCredit) break;
      if (sequence <= this.#sentInput) continue;
      this.#sentInput = sequence;
      this.#call?.send(input.frame);
    }
    this.#wakeSender();
  }

  #sendCancel(): void {
    if (this.#cancelReason === undefined || !this.#isOpen) return;
    this.#call?.send(JSON.stringify({ cancel: { reason: this.#cancelReason } }));
  }

  #lost(status: GrpcCallStatus): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    const { now, random, lostMsMax, listener } = this.#options;
    if (this.#isOpen) this.#lostAt = now();
    this.#isOpen = false;
    const refusal = this.#takeRefusal(status, now() - this.#lostAt >= lostMsMax);
    if (refusal !== undefined) {
      this.leave();
      this.#reject(refusal);
      return;
    }
    const pauseMs = Math.round(this.#pauseMs * (0.5 + random() / 2));
    this.#pauseMs = Math.min(2 * this.#pauseMs, pauseMsMax);
    listener.onLost?.(status, this.#lastOutput, pauseMs);
    if (listener.beforeResume === undefined) this.#timer = setTimeout(() => this.#connect(), pauseMs);
    else void listener.beforeResume().then(() => !this.#isOver && this.#connect());
  }

  #takeRefusal(status: GrpcCallStatus, isTooLate: boolean): StreamGivenUp | undefined {
    const { name, message, code, systemCode, httpStatus } = status;
    const said = code === undefined ? `${name}: ${message}` : `${code}: ${message}`;
    const isFinal = code === undefined ? !lossNames.includes(name) : errorCatalogue[code].retry === 'never';
    if (isFinal) return new StreamGivenUp(status, said);
    // Before anything has answered at the address, it is probably wrong.
    if (!this.#hasOpened && (systemCode === 'ECONNREFUSED' || systemCode === 'ENOTFOUND')) {
      return new StreamGivenUp(status, said);
    }
    // Neither does a port for something else become one for streams; a proxy may find its server later.
    if (!this.#hasOpened && httpStatus !== undefined && name !== 'UNAVAILABLE') return new StreamGivenUp(status, said);
    if (!isTooLate) return undefined;
    return new StreamGivenUp(status, `no connection for ${this.#options.lostMsMax / 1000} s; at last ${said}`);
  }
}
