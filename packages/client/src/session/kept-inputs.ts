/** The inputs of a stream: numbered, kept until the server has them durably, sent as its credit allows. Pure. */
import { type InputFrame, type StreamCredit, type StreamPayload, streamPayloadBytes } from '@millrace/protocol';
import { MillraceError } from '../errors/millrace-error.ts';

export interface SessionInput {
  readonly payload: StreamPayload;
  readonly endOfInput: boolean;
  readonly eventTimeMs?: number | undefined;
  readonly deadlineMs?: number | undefined;
}

/** Inputs, and bytes of them, that wait for the server before the program has to. */
const keptMax = 256;
const keptBytesMax = 4 * 1024 * 1024;

interface KeptInput {
  readonly input: SessionInput;
  readonly bytes: number;
}

export class KeptInputs {
  /** The sequence of the first one kept, less one. Undefined: the server has to say it first. */
  #base: number | undefined;
  /** In order, from `#base + 1` on. */
  #kept: KeptInput[] = [];
  #keptBytes = 0;
  /** How many of `#kept` were sent on this connection. */
  #sent = 0;
  #sentBytes = 0;
  #credit: StreamCredit = { messages: 0, bytes: 0 };
  #isEnded: boolean = false;

  /** `base` of 0: a new stream. */
  constructor(base: number | undefined) {
    this.#base = base;
  }

  /** The highest input that the server has durably, as far as it has said. */
  get accepted(): number {
    return this.#base ?? 0;
  }

  /** The program has given its last input. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Inputs are on their way that the server has not confirmed. */
  get isUnaccepted(): boolean {
    return this.#sent > 0;
  }

  get hasRoom(): boolean {
    return this.#kept.length < keptMax && this.#keptBytes < keptBytesMax;
  }

  add(input: SessionInput): void {
    if (this.#isEnded) throw new TypeError('the inputs of the stream have ended; it takes no further one');
    this.#isEnded = input.endOfInput;
    const bytes = streamPayloadBytes(input.payload);
    this.#kept.push({ input, bytes });
    this.#keptBytes += bytes;
  }

  /** A connection begins: what it has not accepted is sent again. */
  onOpened(accepted: number, credit: StreamCredit): MillraceError | undefined {
    this.#sent = 0;
    this.#sentBytes = 0;
    this.#credit = credit;
    if (this.#base === undefined) {
      this.#base = accepted;
      return undefined;
    }
    if (accepted > this.#base + this.#kept.length) {
      return new MillraceError(
        'stream-conflict',
        `the stream has ${accepted} inputs, some of which another client sent`,
      );
    }
    this.#forget(accepted);
    return undefined;
  }

  /** The credit replaces the one before, and counts from `accepted`. */
  onAccepted(accepted: number, credit: StreamCredit | undefined): void {
    // Without a new credit the one before goes on, and counts from where it did.
    const past = Math.max(0, accepted - this.accepted);
    const pastBytes = this.#kept.slice(0, past).reduce((sum, { bytes }) => sum + bytes, 0);
    this.#credit = credit ?? {
      messages: Math.max(0, this.#credit.messages - past),
      bytes: Math.max(0, this.#credit.bytes - pastBytes),
    };
    this.#forget(accepted);
  }

  #forget(accepted: number): void {
    const count = Math.min(this.#kept.length, accepted - this.accepted);
    if (count <= 0) return;
    for (const { bytes } of this.#kept.splice(0, count)) {
      this.#keptBytes -= bytes;
      if (this.#sent > 0) this.#sentBytes -= bytes;
      this.#sent = Math.max(0, this.#sent - 1);
    }
    this.#base = accepted;
  }

  /** What may be sent now, in order; it counts as sent. */
  takeSendable(): readonly InputFrame[] {
    const frames: InputFrame[] = [];
    const base = this.#base;
    if (base === undefined) return frames;
    while (this.#sent < this.#kept.length && this.#sent < this.#credit.messages) {
      const { bytes } = this.#kept[this.#sent] as KeptInput;
      if (this.#sentBytes + bytes > this.#credit.bytes) break;
      frames.push(this.#frameAt(this.#sent));
      this.#sent += 1;
      this.#sentBytes += bytes;
    }
    return frames;
  }

  /** An input that the server only confirms when it comes once more. */
  repeatable(): InputFrame {
    if (this.#sent > 0) return this.#frameAt(0);
    return { kind: 'input', sequence: this.accepted, payload: { kind: 'none' }, endOfInput: false };
  }

  #frameAt(index: number): InputFrame {
    const { payload, endOfInput, eventTimeMs, deadlineMs } = (this.#kept[index] as KeptInput).input;
    return { kind: 'input', sequence: this.accepted + index + 1, payload, endOfInput, eventTimeMs, deadlineMs };
  }
}
