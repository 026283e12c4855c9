/** Sends calls through the data plane's interface, and has what comes back judged. */
import { Cancellation, type CancelReason, InferenceError, type Tensor } from '@millrace/protocol';
import type { InferAnswer } from '@millrace/router';
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
}

export class Callers {
  readonly #world: SimulatedWorld;
  readonly #dataPlane: LiveDataPlane;
  readonly #referee: CallReferee;
  readonly #open = new Map<number, Cancellation>();

  constructor(world: SimulatedWorld, dataPlane: LiveDataPlane, referee: CallReferee) {
    this.#world = world;
    this.#dataPlane = dataPlane;
    this.#referee = referee;
  }

  ask(call: SentCall): void {
    const { deadlineAt, caller, priority, queueTimeoutMs } = call;
    const world = this.#world;
    world.note('call', call);
    this.#referee.begun(call);
    const cancellation = new Cancellation();
    this.#open.set(call.id, cancellation);
    const inputs = inputsOf(call);
    const request = {
      target: {
        model: call.address,
        version: '',
        id: `${call.id}`,
        parameters: new Map(),
        outputs: [],
        sequence: undefined,
      },
      inputs,
      origin: { caller, deadlineAt, queueTimeoutMs, priority, trail: noTrail },
    };
    this.#dataPlane.inference.infer(request, cancellation).then(
      (answer) => {
        this.#ended(call, inputs);
        world.judge(() => this.#referee.answered(call.id, answer));
        this.#use(call, answer);
      },
      (error: unknown) => {
        this.#ended(call, inputs);
        world.judge(() => {
          if (!(error instanceof InferenceError)) throw error;
          world.count(`caller: ${error.code}`);
          this.#referee.refused(call.id, error);
        });
      },
    );
  }

  cancel(id: number, reason: CancelReason): void {
    const cancellation = this.#open.get(id);
    if (cancellation === undefined) return;
    this.#world.note('cancel', { id, reason });
    this.#referee.cancelled(id, reason);
    cancellation.cancel(reason);
  }

  /** The memory of its inputs is used for something else as soon as a call has ended. */
  #ended({ id }: SentCall, inputs: readonly Tensor[]): void {
    this.#open.delete(id);
    for (const { data } of inputs) data.fill(otherBytes);
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

function inputsOf({ question, rows, width, textLengths, isAlone }: SentCall): readonly Tensor[] {
  const values = Array.from({ length: rows * width }, (_, index) => rowValue(question, Math.floor(index / width)));
  const inputs: Tensor[] = [
    { name: 'x', datatype: 'INT32', shape: [rows, width], data: int32Bytes(values) },
    { name: 'text', datatype: 'BYTES', shape: [rows, 1], data: textRows(question, textLengths) },
  ];
  const mode: Tensor = { name: 'mode', datatype: 'INT32', shape: [1], data: int32Bytes([1]) };
  return isAlone ? [...inputs, mode] : inputs;
}
