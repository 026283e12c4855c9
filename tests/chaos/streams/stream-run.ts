/** A run of many clients: first each plan undisturbed, then all seats busy with streams until the time is over. */
import { randomUUID } from 'node:crypto';
import type { FuzzRandom } from '../../fuzz/random.ts';
import type { StreamDialect } from './dialect.ts';
import { DurableClient } from './durable-client.ts';
import type { Seat } from './faults.ts';
import type { GapWatch } from './gap-watch.ts';
import { dialectsFor, type StreamCard, StreamDeck } from './stream-deck.ts';
import type { StreamPlan } from './stream-plans.ts';

export interface StreamRunParts {
  readonly plans: readonly StreamPlan[];
  readonly dialects: readonly StreamDialect[];
  readonly random: FuzzRandom;
  readonly gaps: GapWatch;
  readonly paceMs: number;
  readonly onOpened: () => void;
  readonly onInput: () => void;
}

/** Streams that say nothing for this long when there are no more faults are stuck. */
const silentMsMax = 60_000;

export class StreamRun {
  readonly #parts: StreamRunParts;
  readonly clients: DurableClient[] = [];
  readonly #expected = new Map<StreamPlan, readonly Buffer[]>();
  #isOver: boolean = false;

  constructor(parts: StreamRunParts) {
    this.#parts = parts;
  }

  /** Runs every plan once at this address, without faults: its outputs are what all others must give. */
  async learn(address: string): Promise<void> {
    const { plans, dialects, random } = this.#parts;
    await Promise.all(
      plans.map(async (plan) => {
        const undisturbed = { paceMs: 0, creditMessages: undefined, handleMs: 0, cancelAfter: undefined };
        const dialect = random.pick(dialectsFor(plan, dialects));
        const client = new DurableClient({ ...this.#optionsFor({ plan, dialect }, address), ...undisturbed });
        await client.whenOver;
        if (client.ending?.outcome !== 'done' || client.problems.length > 0) {
          throw new Error(`the undisturbed run failed: ${client.problems.join('; ')}\n${client.history}`);
        }
        this.#expected.set(plan, client.outputs);
      }),
    );
  }

  get outputCount(): number {
    let count = 0;
    for (const outputs of this.#expected.values()) count += outputs.length;
    return count;
  }

  /** One stream after the other in every seat, long ones in some. Resolves when all have ended after `stop`. */
  async occupy(seats: readonly Seat[]): Promise<void> {
    const { plans, dialects, random } = this.#parts;
    const isLong = ({ name }: StreamPlan): boolean => name.includes('-long-');
    const long = new StreamDeck(plans.filter(isLong), dialects, random);
    const short = new StreamDeck(
      plans.filter((plan) => !isLong(plan)),
      dialects,
      random,
    );
    await Promise.all(
      seats.map(async (seat, index) => {
        // Not all in the same turn.
        await new Promise((resolve) => setTimeout(resolve, random.below(3000)));
        for (let count = 0; count === 0 || !this.#isOver; count++) {
          const card = (index % 8 === 0 && count === 0 ? long : short).draw();
          const cancelAfter = this.#cancelAfterFor(card);
          const options = this.#optionsFor(card, addressOf(seat.path));
          const client = new DurableClient({ ...options, ...mannersOf(index, card.dialect), cancelAfter });
          this.clients.push(client);
          seat.client = client;
          if (this.#isOver) client.hurry();
          await client.whenOver;
          seat.client = undefined;
        }
      }),
    );
  }

  /** No more streams; those that run send the rest of their inputs at once. */
  stop(): void {
    this.#isOver = true;
    for (const client of this.clients) client.hurry();
    const stoppedAt = performance.now();
    setInterval(() => {
      const now = performance.now();
      for (const client of this.clients) {
        if (client.endedAt > 0 || now - Math.max(stoppedAt, client.heardAt) < silentMsMax) continue;
        client.abandon(`stuck: nothing was heard of it for ${silentMsMax} ms after the last fault`);
      }
    }, 1000).unref();
  }

  #optionsFor({ plan, dialect }: StreamCard, address: string) {
    const { random, gaps, onOpened, onInput, paceMs } = this.#parts;
    const expected = this.#expected.get(plan);
    return { id: randomUUID(), plan, dialect, address, expected, paceMs, random, gaps, onOpened, onInput };
  }

  /** Some are cancelled half way, where the client can say so. */
  #cancelAfterFor({ plan, dialect }: StreamCard): number | undefined {
    const outputs = this.#expected.get(plan)?.length ?? 0;
    return !dialect.hasOneInput && this.#parts.random.oneIn(16) ? Math.ceil(outputs / 2) : undefined;
  }
}

/** Some never acknowledge, most do at once, and some take their time with little credit: their models have to pause. */
function mannersOf(
  index: number,
  { hasOneInput }: StreamDialect,
): { readonly creditMessages: number | undefined; readonly handleMs: number } {
  if (hasOneInput || index % 4 === 1) return { creditMessages: undefined, handleMs: 0 };
  if (index % 8 === 3) return { creditMessages: 4, handleMs: 300 };
  return { creditMessages: 32, handleMs: 0 };
}

function addressOf({ address: { host, port } }: Seat['path']): string {
  return `${host}:${port}`;
}
