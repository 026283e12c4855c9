/** An operator: changes labels, splits and pins, closes breakers. */
import { InferenceError } from '@millrace/protocol';
import type { TrafficChange } from '@millrace/router';
import type { CallReferee } from '../referees/call-referee.ts';
import { versionsMax, type WorldModel } from '../repository/layout.ts';
import type { OpenedShell } from '../shell.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';

export const labels = ['stable', 'canary'] as const;

export class Operator {
  readonly #world: SimulatedWorld;
  readonly #shell: OpenedShell;
  readonly #referee: CallReferee;

  constructor(world: SimulatedWorld, shell: OpenedShell, referee: CallReferee) {
    this.#world = world;
    this.#shell = shell;
    this.#referee = referee;
  }

  /** Moves a label, sends requests without a version elsewhere, or copies of them to a shadow. */
  async changeTraffic({ name, versionsMax: versions }: WorldModel): Promise<void> {
    const { random } = this.#world;
    const version = () => `${random.integer(1, versions)}`;
    const label = random.pick(labels);
    const [first, second] = [version(), version()];
    const split = [{ version: first, weight: random.integer(1, 9) }];
    if (second !== first && random.chance(0.7)) split.push({ version: second, weight: 1 });
    const asked: TrafficChange = random.chance(0.6)
      ? { labels: new Map([[label, random.chance(0.1) ? undefined : first]]) }
      : random.chance(0.5)
        ? { split: random.chance(0.3) ? [] : split }
        : { shadows: random.chance(0.3) ? [] : [{ version: first, percent: random.pick([20, 100]) }] };
    try {
      const { labels: moved, split: parts } = await this.#shell.traffic.changeTraffic(name, asked);
      this.#referee.noteTraffic(name, { labels: moved, split: parts.map((one) => one.version) });
      this.#world.count(`${Object.keys(asked).join()} changed`);
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
    }
  }

  async pin(model: string): Promise<void> {
    const { random } = this.#world;
    try {
      await this.#shell.library.setPinned(model, `${random.integer(1, versionsMax)}`, random.chance(0.4));
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
    }
  }

  /** Trusts a worker again, needed or not. */
  closeBreaker(): void {
    this.#shell.dataPlane.inspection.closeBreaker(this.#world.random.integer(1, 5));
  }
}
