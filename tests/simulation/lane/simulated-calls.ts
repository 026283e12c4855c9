/** The calls of a worker's runs to other models: what they sent, and whether the answer is theirs. */
import type { FromWorker, Tensor, ToWorker } from '@millrace/protocol';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { claim } from '../world/truth.ts';
import { hopValue, int32Bytes, int32Values, rowValue, textRows } from './rows.ts';
import { SimulatedRegion } from './simulated-region.ts';

interface OpenCall {
  readonly batch: number;
  readonly value: number;
  readonly onEnd: (isAnswered: boolean) => void;
}

export class SimulatedCalls {
  readonly #world: SimulatedWorld;
  readonly #say: (message: FromWorker) => void;
  readonly #open = new Map<number, OpenCall>();
  #callCount = 0;

  constructor(world: SimulatedWorld, say: (message: FromWorker) => void) {
    this.#world = world;
    this.#say = say;
  }

  /** Asks another model the first row of a question. */
  begin(batch: number, callee: string, question: number, onEnd: (isAnswered: boolean) => void): void {
    const { random, timeline } = this.#world;
    this.#callCount += 1;
    const call = this.#callCount;
    const value = rowValue(question, 0);
    this.#open.set(call, { batch, value, onEnd });
    const [x, text] = [int32Bytes([value]), textRows(question, [0])];
    const region = new SimulatedRegion(this.#world, x.length + text.length, `of call ${call} of batch ${batch}`);
    region.bytes.set(x);
    region.bytes.set(text, x.length);
    const inputs: Tensor[] = [
      { name: 'x', datatype: 'INT32', shape: [1, 1], data: region.bytes.subarray(0, x.length) },
      { name: 'text', datatype: 'BYTES', shape: [1, 1], data: region.bytes.subarray(x.length) },
    ];
    const timeoutMs = random.chance(0.3) ? random.integer(1, 100) : Number.POSITIVE_INFINITY;
    this.#say({ kind: 'call', call, batch, model: callee, version: '', inputs, outputs: [], timeoutMs, region });
    if (!random.chance(0.1)) return;
    timeline.after(random.integer(0, 30), () => {
      if (this.#open.has(call)) this.#say({ kind: 'call-cancelled', call, batch });
    });
  }

  take(message: Extract<ToWorker, { kind: 'call-answered' | 'call-failed' }>): void {
    const open = this.#open.get(message.call);
    if (open === undefined) return;
    this.#open.delete(message.call);
    this.#world.count(message.kind);
    if (message.kind === 'call-answered') {
      this.#world.judge(() => {
        const values = int32Values(message.outputs.find(({ name }) => name === 'y')?.data ?? new Uint8Array());
        claim(`${values}` === `${open.value + hopValue}`, `call ${message.call} of batch ${open.batch} got ${values}`);
      });
    }
    open.onEnd(message.kind === 'call-answered');
  }

  batchEnded(batch: number): void {
    for (const [call, open] of this.#open) if (open.batch === batch) this.#open.delete(call);
  }
}
