/** What a stream writes into its journal, and what becomes of it when it is durable: inputs, outputs, checkpoints, trims. */
import { CheckpointClock } from './checkpoint-clock.ts';
import { InputAcceptance } from './input-acceptance.ts';
import type { LogAccount } from './log-account.ts';
import type { MachineActions } from './machine-actions.ts';
import { OutputLog } from './output-log.ts';
import type { PendingInputs, UnansweredInput } from './pending-inputs.ts';
import { type RestoredStream, replayedOutputs } from './restored-stream.ts';
import {
  type CheckpointEntry,
  type InputEntry,
  type OpeningEntry,
  type OutputEntry,
  type SizedPayload,
  type StreamEntry,
  streamEntryOverheadBytes,
} from './stream-entries.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';

/** What a checkpoint says that the records do not know themselves. */
export interface AppliedInputs<Payload extends SizedPayload> {
  readonly finishedInput: number;
  readonly isEndOfInput: boolean;
  /** Of a stateful model, after that input. */
  readonly state: Payload | undefined;
  readonly pending: PendingInputs<Payload>;
  readonly eventTimeMax: number | undefined;
}

export class StreamRecords<Payload extends SizedPayload> {
  readonly acceptance: InputAcceptance;
  readonly outputs: OutputLog<Payload>;
  readonly clock: CheckpointClock;
  /** The journal has little room for the stream. */
  isScarce: boolean = false;
  readonly #opening: OpeningEntry<Payload>;
  /** Remembered: the caller may encode the payload whenever it is asked for. */
  readonly #openingBytes: number;
  readonly #log: LogAccount<Payload>;
  readonly #actions: MachineActions<Payload>;
  /** Journaled outputs that are not kept and that inputs give again. */
  readonly #replayed: Map<number, OutputEntry<Payload>> | undefined;

  constructor(
    config: StreamMachineConfig,
    stream: RestoredStream<Payload>,
    log: LogAccount<Payload>,
    actions: MachineActions<Payload>,
    nowMs: number,
  ) {
    this.acceptance = new InputAcceptance(config, stream.pending.at(-1)?.entry.sequence ?? stream.finishedInput);
    this.outputs = new OutputLog(stream.retained, stream.outputs, stream.acknowledgedOutput);
    this.clock = new CheckpointClock(config, nowMs);
    this.#opening = stream.opening;
    this.#openingBytes = stream.opening.payload.byteLength;
    this.#log = log;
    this.#actions = actions;
    this.#replayed = replayedOutputs(stream);
  }

  /** Number of the last entry that is durable. */
  get committed(): number {
    return this.#log.committed;
  }

  get isAllCommitted(): boolean {
    return this.#log.committed === this.#log.last;
  }

  get entries(): number {
    return this.#log.entries;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** Appends the entry; its number. */
  append(entry: StreamEntry<Payload>): number {
    const number = this.#log.add(entry);
    this.#actions.push({ kind: 'append', number, entry });
    return number;
  }

  appendInput(entry: InputEntry<Payload>): void {
    const bytes = entry.payload?.byteLength ?? 0;
    this.acceptance.add({ sequence: entry.sequence, bytes, entryNumber: this.append(entry) });
  }

  /** Numbers the output and appends it; its sequence. */
  appendOutput(input: number, payload: Payload | undefined, isLast: boolean): number {
    const output: OutputEntry<Payload> = { kind: 'output', sequence: this.outputs.last + 1, input, payload, isLast };
    this.outputs.add(output, this.append(output));
    return output.sequence;
  }

  /** The output of this number as it was journaled, if that is still known. */
  takeJournaled(sequence: number): OutputEntry<Payload> | undefined {
    return this.outputs.take(sequence) ?? this.#replayed?.get(sequence);
  }

  /** The oldest input is completely answered. */
  noteFinished({ firstOutput, outputs }: UnansweredInput<Payload>): void {
    this.clock.noteFinished();
    const replayed = this.#replayed;
    if (replayed === undefined) return;
    for (let index = 0; index < outputs && replayed.size > 0; index++) replayed.delete(firstOutput + index);
  }

  commit(number: number): void {
    const trim = this.#log.commit(number);
    if (trim !== undefined) this.#actions.push(trim);
    this.acceptance.commit(this.#log.committed);
    this.outputs.commit(this.#log.committed);
  }

  /** Takes back everything that is not durable. */
  rollBack(): void {
    this.#log.rollBack();
    this.acceptance.rollBack();
    this.outputs.rollBack();
  }

  checkpointIfDue(applied: AppliedInputs<Payload>): void {
    const isDue = this.clock.isDue && !this.isScarce;
    if (isDue || this.#isStale(applied)) this.checkpoint(applied);
  }

  /** A checkpoint counts the outputs of one unfinished input, so there is none while answered inputs are run again. */
  checkpoint(applied: AppliedInputs<Payload>): void {
    const { pending, state } = applied;
    if (pending.isReplaying) return;
    const entry: CheckpointEntry<Payload> = {
      kind: 'checkpoint',
      input: applied.finishedInput,
      isEndOfInput: applied.isEndOfInput,
      state,
      outputs: this.outputs.last,
      partialOutputs: pending.head?.outputs ?? 0,
      acknowledgedOutput: this.outputs.acknowledged,
      eventTimeMax: applied.eventTimeMax,
    };
    this.append(entry);
    this.clock.noteCheckpoint();
    if (!this.#isStale(applied)) return;
    const inputs = pending.all.map((input) => input.entry);
    this.#log.planTrim([this.#opening, entry, ...this.outputs.retained(), ...inputs]);
  }

  /** The log has grown to more than twice what a trim would leave of it. */
  #isStale({ pending, state }: AppliedInputs<Payload>): boolean {
    const entries = 2 + this.outputs.retainedCount + pending.all.length;
    const fixedBytes = (state?.byteLength ?? 0) + this.#openingBytes;
    const bytes = fixedBytes + this.outputs.retainedBytes + pending.bytes + entries * streamEntryOverheadBytes;
    return this.#log.isStale(bytes, entries, this.isScarce);
  }
}
