/**
 * Inputs of one stream before they are applied: puts them in order of their sequences, notices duplicates and gaps, and
 * decides by event time which ones are late. A decision is made once, at the moment of arrival.
 */
import type { SizedPayload } from './stream-entries.ts';
import { type StreamError, streamError } from './stream-errors.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { ArrivedInput } from './stream-machine-events.ts';

export interface WaitingInput<Payload> {
  readonly input: ArrivedInput<Payload>;
  readonly isDropped: boolean;
}

export class ReorderWindow<Payload extends SizedPayload> {
  readonly #config: StreamMachineConfig;
  /** The next one to apply, as mostly the only one that waits. */
  #first: WaitingInput<Payload> | undefined;
  /** Those after it, by sequence; made with the first that comes before its turn. */
  #waiting: Map<number, WaitingInput<Payload>> | undefined;
  /** The sequence of the next input to apply. */
  #next: number;
  #bytes = 0;
  /** The last input of the stream, as soon as the client has named it. */
  #lastInput: number;
  #eventTimeMax: number | undefined;
  #lateInputs = 0;

  constructor(config: StreamMachineConfig, next: number, lastInput: number, eventTimeMax: number | undefined) {
    this.#config = config;
    this.#next = next;
    this.#lastInput = lastInput;
    this.#eventTimeMax = eventTimeMax;
  }

  get inputs(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#waiting?.size ?? 0);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get eventTimeMax(): number | undefined {
    return this.#eventTimeMax;
  }

  /** Inputs so far that came after the watermark had passed their event time, whatever became of them. */
  get lateInputs(): number {
    return this.#lateInputs;
  }

  /** Keeps the input until its turn. `known`: the same sequence came before. An error ends the stream. */
  put(input: ArrivedInput<Payload>): 'kept' | 'known' | StreamError {
    const { sequence } = input;
    if (sequence < this.#next || this.#isWaiting(sequence)) return 'known';
    const error = this.#errorOf(input);
    if (error !== undefined) return error;
    const isLate = this.#isLate(input.eventTime);
    if (isLate) this.#lateInputs += 1;
    if (isLate && this.#config.lateInputs === 'refuse') return this.#lateError(input);
    if (input.isLast) this.#lastInput = sequence;
    const waiting = { input, isDropped: isLate && this.#config.lateInputs === 'drop' };
    if (sequence === this.#next) this.#first = waiting;
    else {
      this.#waiting ??= new Map();
      this.#waiting.set(sequence, waiting);
    }
    this.#bytes += bytesOf(input);
    if (input.eventTime !== undefined) {
      this.#eventTimeMax = Math.max(input.eventTime, this.#eventTimeMax ?? Number.NEGATIVE_INFINITY);
    }
    return 'kept';
  }

  /** The next input in order, if it has come. */
  peek(): WaitingInput<Payload> | undefined {
    return this.#first;
  }

  take(): void {
    const next = this.#first;
    if (next === undefined) return;
    this.#bytes -= bytesOf(next.input);
    this.#next += 1;
    this.#first = this.#waiting?.get(this.#next);
    if (this.#first !== undefined) this.#waiting?.delete(this.#next);
  }

  #isWaiting(sequence: number): boolean {
    if (sequence === this.#next) return this.#first !== undefined;
    return this.#waiting?.has(sequence) === true;
  }

  clear(): void {
    this.#first = undefined;
    this.#waiting = undefined;
    this.#bytes = 0;
  }

  #errorOf(input: ArrivedInput<Payload>): StreamError | undefined {
    const { sequence } = input;
    const { inputBytesMax, reorderInputsMax, reorderBytesMax } = this.#config;
    if (sequence > this.#lastInput || (input.isLast && this.#hasAfter(sequence))) {
      const last = Math.min(this.#lastInput, sequence);
      return streamError('input-after-end', `input ${last} ended the inputs; send none with a higher sequence`);
    }
    const bytes = bytesOf(input);
    if (bytes > inputBytesMax) {
      return streamError(
        'request-too-large',
        `input ${sequence} has ${bytes} bytes, at most ${inputBytesMax} are allowed; send smaller inputs`,
      );
    }
    if (sequence > this.#next + reorderInputsMax) {
      return streamError(
        'sequence-gap',
        `input ${sequence} is more than ${reorderInputsMax} after input ${this.#next}, which is the next; send inputs in order and within the credit`,
      );
    }
    // The next one is never refused: it may be what the others wait for.
    if (sequence !== this.#next && this.#bytes + bytes > reorderBytesMax) {
      return streamError(
        'sequence-gap',
        `inputs after input ${this.#next}, which is the next, have more than ${reorderBytesMax} bytes; send inputs in order and within the credit`,
      );
    }
    return undefined;
  }

  #hasAfter(sequence: number): boolean {
    for (const waiting of this.#waiting?.keys() ?? []) if (waiting > sequence) return true;
    return false;
  }

  #isLate(eventTime: number | undefined): boolean {
    if (eventTime === undefined || this.#eventTimeMax === undefined) return false;
    return eventTime < this.#eventTimeMax - this.#config.latenessMsMax;
  }

  #lateError({ sequence, eventTime }: ArrivedInput<Payload>): StreamError {
    const lateMs = (this.#eventTimeMax as number) - (eventTime as number);
    return streamError(
      'late-input',
      `the event time of input ${sequence} is ${lateMs} ms before the latest, at most ${this.#config.latenessMsMax} ms are allowed`,
    );
  }
}

function bytesOf(input: ArrivedInput<SizedPayload>): number {
  return input.payload?.byteLength ?? 0;
}
