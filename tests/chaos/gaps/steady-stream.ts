/** A client of one stream that sends an input every few milliseconds, connects again when it must, and notes the pauses between outputs. */
import { randomUUID } from 'node:crypto';
import type { StreamPayload, StreamServerFrame } from '@millrace/protocol';
import type { DialectLink } from '../streams/dialect.ts';
import { grpcStream } from '../streams/grpc-dialects.ts';

const paceMs = 10;
/** Inputs that are sent and not answered, at most. */
const aheadMax = 4;
const creditMessages = 1000;
const credit = { messages: creditMessages, bytes: 1024 * 1024 };
const samples = 320;
const payload: StreamPayload = {
  kind: 'tensors',
  tensors: [{ name: 'audio', datatype: 'FP32', shape: [1, samples], data: Buffer.alloc(4 * samples) }],
};

export class SteadyStream {
  readonly backoffMs = 50;
  /** When the last `opened` came. */
  openedAt = 0;
  /** Between two outputs, or from `beginPause` to the first one. */
  longestPauseMs = 0;
  readonly #address: string;
  readonly #model: string;
  readonly #id = randomUUID();
  readonly #pace: NodeJS.Timeout;
  #link: DialectLink | undefined;
  #isOpen: boolean = false;
  #wasOpen: boolean = false;
  #sent = 0;
  #lastOutput = 0;
  #heardAt = 0;
  #waiting: ((at: number) => void)[] = [];

  /** `address`: host and port of gRPC. */
  constructor(address: string, model: string) {
    this.#address = address;
    this.#model = model;
    this.#connect();
    this.#pace = setInterval(() => {
      if (this.#isOpen && this.#sent - this.#lastOutput < aheadMax) this.#send(++this.#sent);
    }, paceMs);
  }

  beginPause(): void {
    this.#heardAt = performance.now();
    this.longestPauseMs = 0;
  }

  /** Resolves with the time of the next output. */
  outputAfter(): Promise<number> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Breaks the connection, as if the network had. */
  cut(): void {
    this.#link?.close();
    this.#lost();
  }

  close(): void {
    clearInterval(this.#pace);
    this.#isOpen = false;
    this.#link?.close();
    this.#link = undefined;
  }

  #connect(): void {
    const link: DialectLink = grpcStream.connect(
      this.#address,
      {
        kind: 'open',
        streamId: this.#id,
        mode: this.#wasOpen ? 'resume' : 'new',
        context: this.#model,
        parameters: {},
        resumeAfter: this.#lastOutput,
        outputCredit: credit,
        protocolVersions: [],
      },
      {
        onFrame: (frame) => {
          if (this.#link === link) this.#hear(frame);
        },
        onClosed: () => {
          if (this.#link === link) this.#lost();
        },
      },
    );
    this.#link = link;
  }

  #lost(): void {
    this.#isOpen = false;
    this.#link = undefined;
    setTimeout(() => this.#connect(), this.backoffMs);
  }

  #hear(frame: StreamServerFrame): void {
    if (frame.kind === 'ended') throw new Error(`the stream ended as ${frame.outcome}: ${frame.message}`);
    if (frame.kind === 'opened') {
      this.openedAt = performance.now();
      [this.#isOpen, this.#wasOpen] = [true, true];
      for (let sequence = frame.acceptedInput + 1; sequence <= this.#sent; sequence++) this.#send(sequence);
    }
    if (frame.kind !== 'output') return;
    const now = performance.now();
    this.longestPauseMs = Math.max(this.longestPauseMs, now - this.#heardAt);
    this.#heardAt = now;
    this.#lastOutput = frame.sequence;
    if (this.#lastOutput % (creditMessages / 4) === 0) {
      this.#link?.send({ kind: 'acknowledge', output: this.#lastOutput, outputCredit: credit });
    }
    for (const resolve of this.#waiting.splice(0)) resolve(now);
  }

  #send(sequence: number): void {
    this.#link?.send({ kind: 'input', sequence, payload, endOfInput: false });
  }
}
