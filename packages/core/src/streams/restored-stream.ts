/** Reads the log of a stream: what was decided before its owner died, and what is to be run again. */
import { assert } from '../assert.ts';
import { UnansweredInput } from './pending-inputs.ts';
import type {
  CheckpointEntry,
  EndingEntry,
  InputEntry,
  OpeningEntry,
  OutputEntry,
  SizedPayload,
  StreamEntry,
} from './stream-entries.ts';
import type { StreamModelKind } from './stream-machine-config.ts';

export interface RestoredStream<Payload> {
  readonly opening: OpeningEntry<Payload>;
  readonly ending: EndingEntry | undefined;
  /** This input and all before it need not be run again. */
  readonly finishedInput: number;
  /** Of a stateful model, after that input. */
  readonly state: Payload | undefined;
  /** Those after it, in order. */
  readonly pending: readonly UnansweredInput<Payload>[];
  /** The last input of the stream; Infinity: not named yet. */
  readonly lastInput: number;
  readonly outputs: number;
  readonly acknowledgedOutput: number;
  /** Those after the acknowledged one. */
  readonly retained: readonly OutputEntry<Payload>[];
  /** Those before it that a pending input gives again. */
  readonly replayed: readonly OutputEntry<Payload>[];
  readonly eventTimeMax: number | undefined;
}

/** The entries of a log in order, the snapshot of its last trim first. */
export function restoredStreamFrom<Payload extends SizedPayload>(
  entries: readonly StreamEntry<Payload>[],
  model: StreamModelKind,
): RestoredStream<Payload> {
  const [opening] = entries;
  assert(opening?.kind === 'opening', 'a log begins with an opening');
  const fold = new LogFold<Payload>();
  for (const entry of entries) fold.read(entry);
  return fold.result(opening, model);
}

/** By sequence; undefined where there are none, as in nearly all streams. */
export function replayedOutputs<Payload>({
  replayed,
}: RestoredStream<Payload>): Map<number, OutputEntry<Payload>> | undefined {
  return replayed.length === 0 ? undefined : new Map(replayed.map((output) => [output.sequence, output]));
}

class LogFold<Payload extends SizedPayload> {
  #ending: EndingEntry | undefined;
  #checkpoint: CheckpointEntry<Payload> | undefined;
  #pending = new Map<number, UnansweredInput<Payload>>();
  readonly #journaled: OutputEntry<Payload>[] = [];
  #outputs = 0;
  #lastInput = Number.POSITIVE_INFINITY;
  #eventTimeMax: number | undefined;

  read(entry: StreamEntry<Payload>): void {
    switch (entry.kind) {
      case 'opening':
        break;
      case 'input':
        this.#readInput(entry);
        break;
      case 'output':
        this.#readOutput(entry);
        break;
      case 'checkpoint':
        this.#readCheckpoint(entry);
        break;
      case 'ending':
        this.#ending = entry;
        break;
    }
  }

  result(opening: OpeningEntry<Payload>, model: StreamModelKind): RestoredStream<Payload> {
    const pending = [...this.#pending.values()];
    let finishedInput = this.#checkpoint?.input ?? 0;
    // Only a state has to be built again from inputs that were answered.
    while (model !== 'stateful' && pending[0]?.isAnswered === true) {
      finishedInput = pending[0].entry.sequence;
      pending.shift();
    }
    const acknowledgedOutput = this.#checkpoint?.acknowledgedOutput ?? 0;
    const acknowledged = this.#journaled.filter(({ sequence }) => sequence <= acknowledgedOutput);
    return {
      opening,
      ending: this.#ending,
      finishedInput,
      state: this.#checkpoint?.state,
      pending,
      lastInput: this.#lastInput,
      outputs: this.#outputs,
      acknowledgedOutput,
      retained: this.#journaled.slice(acknowledged.length),
      replayed: acknowledged.filter(({ input }) => input > finishedInput),
      eventTimeMax: this.#eventTimeMax,
    };
  }

  #readInput(entry: InputEntry<Payload>): void {
    const pending = new UnansweredInput(entry, Number.POSITIVE_INFINITY);
    const { input = 0, outputs = 0, partialOutputs = 0 } = this.#checkpoint ?? {};
    if (entry.sequence === input + 1 && partialOutputs > 0) {
      pending.firstOutput = outputs - partialOutputs + 1;
      pending.outputs = partialOutputs;
    }
    this.#pending.set(entry.sequence, pending);
    if (entry.isLast) this.#lastInput = entry.sequence;
    this.#noteEventTime(entry.eventTime);
  }

  #readOutput(entry: OutputEntry<Payload>): void {
    this.#journaled.push(entry);
    // Outputs that a trim restated after the checkpoint are counted by it.
    if (entry.sequence <= this.#outputs) return;
    this.#outputs = entry.sequence;
    this.#pending.get(entry.input)?.noteOutput(entry.sequence, entry.isLast);
  }

  #readCheckpoint(entry: CheckpointEntry<Payload>): void {
    this.#checkpoint = entry;
    this.#outputs = entry.outputs;
    for (const sequence of this.#pending.keys()) if (sequence <= entry.input) this.#pending.delete(sequence);
    if (entry.isEndOfInput) this.#lastInput = entry.input;
    this.#noteEventTime(entry.eventTimeMax);
  }

  #noteEventTime(eventTime: number | undefined): void {
    if (eventTime === undefined) return;
    this.#eventTimeMax = Math.max(eventTime, this.#eventTimeMax ?? Number.NEGATIVE_INFINITY);
  }
}
