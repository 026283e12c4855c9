/** Labels and splits as operators change them. Replaces the table in the metadata store; the router decides what is valid. */
import { InferenceError } from '@millrace/protocol';
import { type ServedModels, type TrafficChange, type TrafficPolicy, trafficAfter } from '@millrace/router/catalogue';
import type { CallReferee } from './call-referee.ts';
import { versionsMax } from './layout.ts';
import type { SimulatedWorld } from './simulated-worker.ts';

const noTraffic: TrafficPolicy = { labels: new Map(), split: [], shadows: [], revision: 0 };

export const labels = ['stable', 'canary'] as const;

export class Operator {
  readonly #world: SimulatedWorld;
  readonly #models: ServedModels;
  readonly #referee: CallReferee;
  readonly #count: (sight: string) => void;
  readonly #policies = new Map<string, TrafficPolicy>();
  readonly #listeners: (() => void)[] = [];

  constructor(world: SimulatedWorld, models: ServedModels, referee: CallReferee, count: (sight: string) => void) {
    this.#world = world;
    this.#count = count;
    this.#models = models;
    this.#referee = referee;
  }

  take(model: string): TrafficPolicy | undefined {
    return this.#policies.get(model);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {};
  }

  /** Moves a label, or sends requests without a version elsewhere. */
  change(model: string): void {
    const { random } = this.#world;
    const version = () => `${random.integer(1, versionsMax)}`;
    const label = random.pick(labels);
    const [first, second] = [version(), version()];
    const split = [{ version: first, weight: random.integer(1, 9) }];
    if (second !== first && random.chance(0.7)) split.push({ version: second, weight: 1 });
    const asked: TrafficChange = random.chance(0.6)
      ? { labels: new Map([[label, random.chance(0.1) ? undefined : first]]) }
      : { split: random.chance(0.3) ? [] : split };
    try {
      const after = trafficAfter(model, this.take(model) ?? noTraffic, asked, (one) => this.#problem(model, one));
      this.#policies.set(model, { ...after, revision: 1 });
      this.#referee.noteTraffic(model, { labels: after.labels, split: after.split.map((one) => one.version) });
      for (const listener of this.#listeners) listener();
      this.#count(asked.labels === undefined ? 'split changed' : 'label moved');
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
    }
  }

  #problem(model: string, version: string): string | undefined {
    const isListed = this.#models.statuses().some((one) => one.name === model && one.version === version);
    return isListed ? undefined : 'there is no such version';
  }
}
