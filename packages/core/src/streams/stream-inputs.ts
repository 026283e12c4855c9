/** The inputs of one stream from their arrival until they are answered: order, application, credit. */
import { type PendingInputs, UnansweredInput } from './pending-inputs.ts';
import { ReorderWindow } from './reorder-window.ts';
import type { RestoredStream } from './restored-stream.ts';
import type { SizedPayload } from './stream-entries.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { FlowCredit } from './stream-machine-events.ts';
import type { AppliedInputs, StreamRecords } from './stream-records.ts';

export class StreamInputs<Payload extends SizedPayload> {
  readonly window: ReorderWindow<Payload>;
  /** Of memory. */
  isScarce: boolean = false;
  readonly #config: StreamMachineConfig;
  readonly #records: StreamRecords<Payload>;
  readonly #pending: PendingInputs<Payload>;
  /** Infinity: not known yet. */
  #lastInput: number;

  constructor(
    config: StreamMachineConfig,
    stream: RestoredStream<Payload>,
    records: StreamRecords<Payload>,
    pending: PendingInputs<Payload>,
  ) {
    this.window = new ReorderWindow(config, records.acceptance.accepted + 1, stream.lastInput, stream.eventTimeMax);
    this.#config = config;
    this.#records = records;
    this.#pending = pending;
    this.#lastInput = stream.lastInput;
    for (const input of stream.pending) pending.add(input);
  }

  /** The client has ended its inputs, and all of them are answered. */
  get isAllFinished(): boolean {
    return this.#pending.finishedInput >= this.#lastInput;
  }

  /** What a client may send after the highest durable input; while memory or journal is scarce no more than it was told before. */
  get credit(): FlowCredit {
    if (this.isScarce || this.#records.isScarce) return this.#records.acceptance.toldCredit;
    return this.#records.acceptance.creditOf(this.#pending.finishedInput, this.#pending.bytes);
  }

  /** What a checkpoint says about them; `state`: of a stateful model, after the last finished one. */
  appliedWith(state: Payload | undefined): AppliedInputs<Payload> {
    return {
      finishedInput: this.#pending.finishedInput,
      isEndOfInput: this.isAllFinished,
      state,
      pending: this.#pending,
      eventTimeMax: this.window.eventTimeMax,
    };
  }

  /** Applies inputs in order, as far as there is room among the pending ones. */
  apply(): void {
    if (this.#records.isScarce) return;
    const { pendingInputsMax, pendingBytesMax } = this.#config;
    const pending = this.#pending;
    for (let next = this.window.peek(); next !== undefined; next = this.window.peek()) {
      const { input, isDropped } = next;
      const bytes = input.payload?.byteLength ?? 0;
      // Those that are not durable yet count as well, also if their steps are done.
      const inputs = Math.max(pending.all.length, this.#records.acceptance.uncommitted);
      if (inputs >= pendingInputsMax || (pending.bytes > 0 && pending.bytes + bytes > pendingBytesMax)) return;
      this.window.take();
      const { sequence, payload, isLast, eventTime } = input;
      const entry = { kind: 'input', sequence, payload, isLast, eventTime, isDropped } as const;
      this.#records.appendInput(entry);
      pending.add(new UnansweredInput(entry, input.deadlineAt));
      if (isLast) this.#lastInput = sequence;
    }
  }
}
