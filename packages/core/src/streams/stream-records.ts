/** What a stream writes into its journal, and what becomes of it when it is durable: inputs, outputs, checkpoints, trims. */
import { CheckpointClock } from './checkpoint-clock.ts';
import { InputAcceptance } from './input-acceptance.ts';
import type { LogAccount } from './log-account.ts';
import { OutputLog } from './output-log.ts';
import type { PendingInputs } from './pending-inputs.ts';
import type { RestoredStream } from './restored-stream.ts';
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
import type { StreamMachineAction } from './stream-machine-events.ts';

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
  readonly #log: LogAccount<Payload>;
  readonly #act: (action: StreamMachineAction<Payload>) => void;

  constructor(
    config: StreamMachineConfig,
    stream: RestoredStream<Payload>,
    log: LogAccount<Payload>,
    act: (action: StreamMachineAction<Payload>) => void,
  ) {
    this.acceptance = new InputAcceptance(config, stream.pending.at(-1)?.entry.sequence ?? stream.finishedInput);
    this.outputs = new OutputLog(stream.retained, stream.outputs, stream.acknowledgedOutput);
    this.clock = new CheckpointClock(config);
    this.#opening = stream.opening;
    this.#log = log;
    this.#act = act;
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
    this.#act({ kind: 'append', number, entry });
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

  commit(number: number): void {
    const trim = this.#log.commit(number);
    if (trim !== undefined) this.#act(trim);
    this.acceptance.commit(this.#log.committed);
    this.outputs.commit(this.#log.committed);
  }

  /** Takes back everything that is not durable. */
  rollBack(): void {
    this.#log.rollBack();
    this.acceptance.rollBack();
    this.outputs.rollBack();
  }

  checkpointIfDue(applied: AppliedInputs<Payload>, nowMs: number): void {
    const isDue = this.clock.isDue(nowMs) && !this.isScarce;
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
    const fixedBytes = (state?.byteLength ?? 0) + this.#opening.payload.byteLength;
    const bytes = fixedBytes + this.outputs.retainedBytes + pending.bytes + entries * streamEntryOverheadBytes;
    return this.#log.isStale(bytes, entries, this.isScarce);
  }
}
