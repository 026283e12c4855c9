/**
 * Runs the inputs of one stream: which attempt begins when, what becomes of its outputs, and of the deaths of workers.
 * Outputs leave in the order of the inputs. An input that is run again gives its journaled outputs again; they are
 * compared and skipped.
 */
import type { MachineActions } from './machine-actions.ts';
import { type GivenOutput, PendingInputs, type UnansweredInput } from './pending-inputs.ts';
import type { RestoredStream } from './restored-stream.ts';
import type { OutputEntry, SizedPayload } from './stream-entries.ts';
import { type StreamError, streamError } from './stream-errors.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { StreamMachineEvent, StreamStepId } from './stream-machine-events.ts';
import type { StreamRecords } from './stream-records.ts';

/** What steps need of the stream. */
export interface StepSurroundings<Payload extends SizedPayload> {
  readonly config: StreamMachineConfig;
  readonly records: StreamRecords<Payload>;
  readonly actions: MachineActions<Payload>;
  /** `room`: outputs that may be made now, beyond those that are numbered. */
  readonly client: { readonly room: number };
  readonly isSame: (journaled: Payload, again: Payload) => boolean;
}

/** Of a step that has given outputs and ended: steps that have not begun are asked again until they do. */
const gaveWayCode = 'caller-full';

export class StreamSteps<Payload extends SizedPayload> {
  readonly pending: PendingInputs<Payload>;
  readonly #config: StreamMachineConfig;
  readonly #records: StreamRecords<Payload>;
  readonly #actions: MachineActions<Payload>;
  readonly #client: StepSurroundings<Payload>['client'];
  readonly #isSame: StepSurroundings<Payload>['isSame'];
  /** Of a stateful model, after the last finished input. */
  #state: Payload | undefined;
  #stepCount = 0;

  constructor(surroundings: StepSurroundings<Payload>, { finishedInput, state }: RestoredStream<Payload>) {
    this.pending = new PendingInputs(finishedInput);
    this.#config = surroundings.config;
    this.#records = surroundings.records;
    this.#actions = surroundings.actions;
    this.#client = surroundings.client;
    this.#isSame = surroundings.isSame;
    this.#state = state;
  }

  get state(): Payload | undefined {
    return this.#state;
  }

  /** Steps in flight. */
  get running(): number {
    let count = 0;
    for (const { step } of this.pending.all) if (step !== undefined) count += 1;
    return count;
  }

  /** Payloads of outputs that wait to be given. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { held } of this.pending.all) for (const { payload } of held) bytes += payload?.byteLength ?? 0;
    return bytes;
  }

  /** Begins steps as far as the client has room for outputs. */
  begin(): void {
    const room = this.#client.room;
    const stepsMax = this.#config.model === 'independent' ? this.#config.stepsMax : 1;
    let left = room;
    const inputs = this.pending.all;
    for (let index = 0; index < inputs.length && index < stepsMax; index++) {
      const input = inputs[index] as UnansweredInput<Payload>;
      if (input.step === undefined && !input.isDone) {
        if (left < 1 && !input.isAnswered) return;
        this.#run(input, left);
      }
      // What runs or waits for its turn will take an output.
      if (!input.isAnswered) left -= 1;
    }
    this.#grant(room);
  }

  /** An error ends the stream. */
  takeOutput(event: StreamMachineEvent<Payload> & { kind: 'step-output' }): StreamError | undefined {
    const input = this.pending.take(event.step);
    if (input === undefined || input.isClosed) return undefined;
    const isDecoupled = this.#config.model === 'decoupled';
    if (isDecoupled && input.held.length === 0 && !this.#records.isScarce)
      return this.#give(input, event.payload, event.isLast);
    input.held.push({ payload: event.payload, isLast: isDecoupled && event.isLast });
    return undefined;
  }

  finish(step: StreamStepId, state: Payload | undefined): StreamError | undefined {
    const input = this.pending.take(step);
    if (input === undefined) return undefined;
    input.step = undefined;
    input.isDone = true;
    input.state = state;
    return this.settle();
  }

  /** Answers the oldest inputs as far as their steps are done. */
  settle(): StreamError | undefined {
    const isHeldBack = this.#records.isScarce;
    if (!isHeldBack && this.#config.model === 'decoupled') {
      const error = this.#giveHeld();
      if (error !== undefined) return error;
    }
    for (let head = this.pending.head; head?.isDone === true; head = this.pending.head) {
      if (isHeldBack && !head.isAnswered && head.entry.payload !== undefined) return undefined;
      // A dropped input gets an output as well, although no step had to wait for room.
      if (head.entry.isDropped && !head.isAnswered && this.#client.room < 1) return undefined;
      const error = this.#answer(head);
      if (error !== undefined) return error;
      if (head.entry.payload !== undefined && !head.entry.isDropped) this.#state = head.state;
      this.pending.finishHead();
      this.#records.noteFinished(head);
    }
    return undefined;
  }

  fail(event: StreamMachineEvent<Payload> & { kind: 'step-failed' }): StreamError | undefined {
    const input = this.pending.take(event.step);
    if (input === undefined) return undefined;
    input.forgetAttempt();
    // Its run gave way to others because the client took no outputs. The step is run again when the client takes some.
    if (event.error.code === gaveWayCode && this.#config.isResumable) return undefined;
    if (!event.hasWorkerDied) return event.error;
    if (!this.#config.isResumable) {
      return streamError('worker-lost', 'the worker died, and the model cannot run an input again; open a new stream');
    }
    // A death in company says nothing about this input.
    if (event.wasAlone && input.isAlone) input.suspectDeaths += 1;
    if (input.suspectDeaths >= this.#config.suspectDeathsMax) {
      return streamError(
        'poison-request',
        `${input.suspectDeaths} workers died while they ran input ${input.entry.sequence} alone; it is not tried again`,
      );
    }
    input.isAlone = true;
    return undefined;
  }

  cancelAll(): void {
    for (const { step } of this.pending.all) {
      if (step !== undefined) this.#actions.push({ kind: 'cancel-step', step });
    }
    this.pending.clear();
  }

  #run(input: UnansweredInput<Payload>, room: number): void {
    this.#stepCount += 1;
    input.step = this.#stepCount;
    input.outputsMax = this.#outputsMaxOf(input, room);
    this.#actions.push({
      kind: 'run',
      step: input.step,
      input: input.entry,
      state: this.#state,
      isAlone: input.isAlone,
      deadlineAt: input.deadlineAt,
      outputsMax: input.outputsMax,
      journaledOutputs: input.outputs,
    });
  }

  /** Raises the grant of a decoupled step when it has used half of it. */
  #grant(room: number): void {
    const head = this.pending.head;
    if (this.#config.model !== 'decoupled' || head?.step === undefined) return;
    const outputsMax = this.#outputsMaxOf(head, room);
    const used = Math.max(head.given, head.outputs);
    if (outputsMax <= head.outputsMax || (head.outputsMax - used) * 2 > this.#aheadMaxOf(head)) return;
    head.outputsMax = outputsMax;
    this.#actions.push({ kind: 'grant', step: head.step, outputsMax });
  }

  #outputsMaxOf(input: UnansweredInput<Payload>, room: number): number {
    if (this.#config.model !== 'decoupled') return 1;
    return input.outputs + Math.min(this.#aheadMaxOf(input), Math.max(0, room));
  }

  #aheadMaxOf({ outputBytesMax }: UnansweredInput<Payload>): number {
    const { outputsAheadMin, outputsAheadMax, outputsAheadBytes } = this.#config;
    // Nothing is known of outputs before the first.
    const fitting = outputBytesMax === 0 ? 0 : Math.floor(outputsAheadBytes / outputBytesMax);
    return Math.min(outputsAheadMax, Math.max(outputsAheadMin, fitting));
  }

  /** Outputs of a decoupled step that came while the journal was scarce. */
  #giveHeld(): StreamError | undefined {
    const head = this.pending.head;
    if (head === undefined || head.held.length === 0) return undefined;
    const { held } = head;
    head.held = [];
    for (const { payload, isLast } of held) {
      const error = this.#give(head, payload, isLast);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  #answer(input: UnansweredInput<Payload>): StreamError | undefined {
    const { held, entry } = input;
    for (let index = 0; index < held.length; index++) {
      const { payload } = held[index] as GivenOutput<Payload>;
      const error = this.#give(input, payload, index === held.length - 1);
      if (error !== undefined) return error;
    }
    const isOnlyEnd = entry.payload === undefined;
    const error = input.isClosed || isOnlyEnd ? undefined : this.#give(input, undefined, true);
    if (error !== undefined) return error;
    return input.given < input.outputs ? this.#diverged(input, input.given + 1) : undefined;
  }

  #give(input: UnansweredInput<Payload>, payload: Payload | undefined, isLast: boolean): StreamError | undefined {
    input.given += 1;
    input.isClosed = isLast;
    if (payload !== undefined && payload.byteLength > input.outputBytesMax) input.outputBytesMax = payload.byteLength;
    if (input.given > input.outputs) {
      if (input.isAnswered) return this.#diverged(input, input.given);
      input.noteOutput(this.#records.appendOutput(input.entry.sequence, payload, isLast), isLast);
      return undefined;
    }
    const journaled = this.#records.takeJournaled(input.firstOutput + input.given - 1);
    const isGivenAgain = journaled === undefined || this.#isGivenAgain(journaled, payload, isLast);
    return isGivenAgain ? undefined : this.#diverged(input, input.given);
  }

  #isGivenAgain(journaled: OutputEntry<Payload>, payload: Payload | undefined, isLast: boolean): boolean {
    if (journaled.isLast !== isLast) return false;
    if (journaled.payload === undefined || payload === undefined) return journaled.payload === payload;
    return this.#isSame(journaled.payload, payload);
  }

  #diverged({ entry, firstOutput }: UnansweredInput<Payload>, index: number): StreamError {
    return streamError(
      'replay-diverged',
      `input ${entry.sequence} was run again, and its output ${firstOutput + index - 1} differs from the one that is journaled`,
    );
  }
}
