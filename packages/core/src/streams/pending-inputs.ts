/** Inputs that were applied and are not completely answered, in order, with what is known of their answers. */
import type { InputEntry, SizedPayload } from './stream-entries.ts';
import type { StreamStepId } from './stream-machine-events.ts';

export interface GivenOutput<Payload> {
  readonly payload: Payload | undefined;
  readonly isLast: boolean;
}

export class UnansweredInput<Payload> {
  readonly entry: InputEntry<Payload>;
  /** Infinity for an input that is replayed. */
  readonly deadlineAt: number;
  /** Its outputs that are numbered, of all attempts; they follow each other from `firstOutput` on. */
  outputs = 0;
  firstOutput = 0;
  /** The last of them is its last output. */
  isAnswered: boolean = false;
  /** The running attempt. */
  step: StreamStepId | undefined;
  /** Outputs of this attempt that were compared or numbered. */
  given = 0;
  /** The attempt has given its last output. */
  isClosed: boolean = false;
  /** Outputs granted to the attempt. */
  outputsMax = 0;
  /** Of the largest output that was given; 0: none was, or they have no payload. */
  outputBytesMax = 0;
  /** Outputs of this attempt that wait for the step, and the inputs before it, to be done. */
  held: GivenOutput<Payload>[] = [];
  isDone: boolean = false;
  /** What the step left, once it is done. */
  state: Payload | undefined;
  /** The next attempt runs in quarantine. */
  isAlone: boolean = false;
  suspectDeaths = 0;

  constructor(entry: InputEntry<Payload>, deadlineAt: number) {
    this.entry = entry;
    this.deadlineAt = deadlineAt;
    // Neither runs: one is answered by an empty output, the other by none.
    this.isDone = entry.isDropped || entry.payload === undefined;
  }

  noteOutput(sequence: number, isLast: boolean): void {
    if (this.outputs === 0) this.firstOutput = sequence;
    this.outputs += 1;
    if (isLast) this.isAnswered = true;
  }

  /** Forgets the attempt: the next one begins anew. */
  forgetAttempt(): void {
    this.step = undefined;
    this.given = 0;
    this.isClosed = false;
    this.held = [];
  }
}

/** Of streams that have had no input. */
const none: never[] = [];

export class PendingInputs<Payload extends SizedPayload> {
  #finishedInput: number;
  #inputs: UnansweredInput<Payload>[] = none;
  #bytes = 0;
  /** Inputs with a deadline: mostly there are none. */
  #deadlines = 0;

  constructor(finishedInput: number) {
    this.#finishedInput = finishedInput;
  }

  /** This input and all before it are completely answered. */
  get finishedInput(): number {
    return this.#finishedInput;
  }

  get all(): readonly UnansweredInput<Payload>[] {
    return this.#inputs;
  }

  get head(): UnansweredInput<Payload> | undefined {
    return this.#inputs[0];
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isReplaying(): boolean {
    for (const { isAnswered } of this.#inputs) if (isAnswered) return true;
    return false;
  }

  /** The earliest deadline; Infinity: none. */
  get deadlineAt(): number {
    let earliest = Number.POSITIVE_INFINITY;
    if (this.#deadlines === 0) return earliest;
    for (const { deadlineAt } of this.#inputs) earliest = Math.min(earliest, deadlineAt);
    return earliest;
  }

  add(input: UnansweredInput<Payload>): void {
    if (this.#inputs === none) this.#inputs = [];
    this.#inputs.push(input);
    this.#bytes += input.entry.payload?.byteLength ?? 0;
    if (input.deadlineAt !== Number.POSITIVE_INFINITY) this.#deadlines += 1;
  }

  /** The oldest one is completely answered. */
  finishHead(): void {
    const head = this.#inputs.shift();
    if (head === undefined) return;
    this.#finishedInput = head.entry.sequence;
    this.#bytes -= head.entry.payload?.byteLength ?? 0;
    if (head.deadlineAt !== Number.POSITIVE_INFINITY) this.#deadlines -= 1;
  }

  take(step: StreamStepId): UnansweredInput<Payload> | undefined {
    for (const input of this.#inputs) if (input.step === step) return input;
    return undefined;
  }

  clear(): void {
    this.#inputs = none;
    this.#bytes = 0;
    this.#deadlines = 0;
  }
}
