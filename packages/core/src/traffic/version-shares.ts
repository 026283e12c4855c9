/** How requests that name no version are spread over versions. */
export interface WeightedChoice {
  readonly version: string;
  /** Above 0. */
  readonly weight: number;
}

export class VersionShares {
  readonly #versions: readonly string[];
  /** For each version the sum of its weight and all before it. */
  readonly #sums: readonly number[];
  /** The version that most requests go to, the first of several; undefined when there is none. */
  readonly largest: string | undefined;

  private constructor(choices: readonly WeightedChoice[]) {
    let sum = 0;
    let largest: WeightedChoice | undefined;
    const sums: number[] = [];
    for (const choice of choices) {
      sum += choice.weight;
      sums.push(sum);
      if (largest === undefined || choice.weight > largest.weight) largest = choice;
    }
    this.#versions = choices.map(({ version }) => version);
    this.#sums = sums;
    this.largest = largest?.version;
  }

  /** The share of an unavailable version is distributed over the others in proportion to their weights. */
  static from(split: readonly WeightedChoice[], isAvailable: (version: string) => boolean): VersionShares {
    return new VersionShares(split.filter(({ version }) => isAvailable(version)));
  }

  /** The version for a number from 0 to below 1; undefined when none is available. */
  draw(random: number): string | undefined {
    const point = random * (this.#sums.at(-1) ?? 0);
    // The last one also when rounding puts the number at the very end.
    const index = this.#sums.findIndex((sum) => point < sum);
    return this.#versions.at(index);
  }
}
