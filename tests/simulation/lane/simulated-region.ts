import type { Region } from '@millrace/protocol';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { claim } from '../world/truth.ts';

/** What memory holds that belongs to somebody else by now. */
const otherBytes = 0xdd;

/** Memory between router and worker. It is overwritten when it is released, so that whoever still reads it gets nonsense. */
export class SimulatedRegion implements Region {
  readonly bytes: Uint8Array;
  readonly #world: SimulatedWorld;
  readonly #title: string;
  #isReleased: boolean = false;

  constructor(world: SimulatedWorld, bytes: number, title: string) {
    this.#world = world;
    this.bytes = new Uint8Array(bytes);
    this.#title = title;
  }

  get isReleased(): boolean {
    return this.#isReleased;
  }

  get title(): string {
    return this.#title;
  }

  release(): void {
    this.#world.judge(() => claim(!this.#isReleased, `memory ${this.#title} is released twice`));
    this.#isReleased = true;
    this.bytes.fill(otherBytes);
  }
}
