/** Sends calls through the data plane's interface, and has what comes back judged. */
import { Cancellation, type CancelReason, InferenceError, type Tensor } from '@millrace/protocol';
import type { InferAnswer, InferRequest, SequenceStep } from '@millrace/router';
import { type LiveDataPlane, noTrail } from '@millrace/router/internal';
import { int32Bytes, rowValue, textRows } from '../lane/rows.ts';
import type { CallReferee, SimulatedCall } from '../referees/call-referee.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

/** What memory holds that a caller uses for something else by now. */
const otherBytes = 0xee;

/** A call, and how it is sent. */
export interface SentCall extends SimulatedCall {
  readonly caller: string;
  readonly priority: number;
  readonly queueTimeoutMs: number;
  /** Values in a row. */
  readonly width: number;
  /** Bytes of the text of each row. */
  readonly textLengths: readonly number[];
  /** It has an input that applies to the whole run, so it runs alone. */
  readonly isAlone: boolean;
  readonly sequenceStep: SequenceStep | undefined;
}

export class Callers {
  readonly #world: SimulatedWorld;
  readonly #dataPlane: LiveDataPlane;
  readonly #referee: CallReferee;
  readonly #open = new Map<number, { cancel(reason: CancelReason): void }>();

  constructor(world: SimulatedWorld, dataPlane: LiveDataPlane, referee: CallReferee) {
    this.#world = world;
    this.#dataPlane = dataPlane;
    this.#referee = referee;
  }

  ask(call: SentCall): void {
    const world = this.#world;
    world.note('call', call);
    this.#referee.begun(call);
    const inputs = inputsOf(call);
    if (call.model.kind === 'decoupled') this.#stream(call, inputs);
    else {
      const cancellation = new Cancellation();
      this.#open.set(call.id, cancellation);
      this.#dataPlane.inference.infer(requestOf(call, inputs), cancellation).then(
        (answer) => {
          this.#ended(call, inputs);
          world.judge(() => this.#referee.answered(call.id, answer));
          this.#use(call, answer);
        },
        (error: unknown) => {
          this.#ended(call, inputs);
          this.#refused(call, error);
        },
      );
    }
  }

  /** A stream of one request, whose answers are taken one after the other. */
  #stream(call: SentCall, inputs: readonly Tensor[]): void {
    const { random, timeline } = this.#world;
    const stream = this.#dataPlane.inference.openStream({
      limits: { requestsMax: 10, slotWaitRequestsMax: 10, slotWaitBytesMax: 10_000 },
      memory: { hasRoomToKeep: () => true, count: () => {}, give: () => {} },
      listener: {
        onOutput: ({ result, isFinal }) => {
          if (result instanceof InferenceError) this.#refused(call, result);
          else if (result.isEnd === true) this.#world.judge(() => this.#referee.gaveAll(call.id));
          else this.#world.judge(() => this.#referee.gavePart(call.id, result));
          if (!(result instanceof InferenceError)) result.release();
          if (!isFinal) timeline.after(random.integer(0, 3), () => stream.grant(1));
        },
        onHold: () => {},
        onEnd: () => this.#open.delete(call.id),
      },
    });
    this.#open.set(call.id, stream);
    stream.input({ request: () => requestOf(call, inputs), onDone: () => overwrite(inputs) });
    stream.endInput();
    stream.grant(1);
  }

  cancel(id: number, reason: CancelReason): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#world.note('cancel', { id, reason });
    this.#referee.cancelled(id, reason);
    open.cancel(reason);
  }

  #refused(call: SentCall, error: unknown): void {
    this.#world.judge(() => {
      if (!(error instanceof InferenceError)) throw error;
      this.#world.count(`caller: ${error.code}`);
      this.#referee.refused(call.id, error);
    });
  }

  /** The memory of its inputs is used for something else as soon as a call has ended. */
  #ended({ id }: SentCall, inputs: readonly Tensor[]): void {
    this.#open.delete(id);
    overwrite(inputs);
  }

  /** Some callers are slow to write an answer: it stays as it is until they release it. */
  #use(call: SentCall, answer: InferAnswer): void {
    const { random, timeline } = this.#world;
    if (!random.chance(0.2)) {
      answer.release();
      return;
    }
    timeline.after(random.integer(1, 50), () => {
      this.#world.judge(() => this.#referee.claimRows(call, answer));
      answer.release();
    });
  }
}

function requestOf(call: SentCall, inputs: readonly Tensor[]): InferRequest {
  const { id, address, deadlineAt, caller, priority, queueTimeoutMs, sequenceStep } = call;
  return {
    target: {
      model: address,
      version: '',
      id: `${id}`,
      parameters: new Map(),
      outputs: [],
      sequence: sequenceStep,
    },
    inputs,
    origin: { caller, deadlineAt, queueTimeoutMs, priority, trail: noTrail },
  };
}

function inputsOf({ model, question, rows, width, textLengths, isAlone }: SentCall): readonly Tensor[] {
  const values = Array.from({ length: rows * width }, (_, index) => rowValue(question, Math.floor(index / width)));
  const isBatched = model.kind !== 'decoupled';
  const [xShape, textShape] = isBatched
    ? [
        [rows, width],
        [rows, 1],
      ]
    : [[rows], [rows]];
  const inputs: Tensor[] = [
    { name: 'x', datatype: 'INT32', shape: xShape as number[], data: int32Bytes(values) },
    { name: 'text', datatype: 'BYTES', shape: textShape as number[], data: textRows(question, textLengths) },
  ];
  const mode: Tensor = { name: 'mode', datatype: 'INT32', shape: [1], data: int32Bytes([1]) };
  return isAlone ? [...inputs, mode] : inputs;
}

/** The caller uses the memory for something else. */
function overwrite(inputs: readonly Tensor[]): void {
  for (const { data } of inputs) data.fill(otherBytes);
}
