/** Items ordered by a count that changes by one at a time: counting is constant time, the largest counts come first. */
interface Rank<Thing> {
  readonly count: number;
  readonly members: Set<Thing>;
  higher: Rank<Thing> | undefined;
  lower: Rank<Thing> | undefined;
}

export class CountRanking<Thing> {
  readonly #rankOf = new Map<Thing, Rank<Thing>>();
  #highest: Rank<Thing> | undefined = undefined;
  #lowest: Rank<Thing> | undefined = undefined;

  increase(thing: Thing): void {
    const rank = this.#rankOf.get(thing);
    const count = (rank?.count ?? 0) + 1;
    const above = rank === undefined ? this.#lowest : rank.higher;
    const next = above?.count === count ? above : this.#insert(count, rank, above);
    this.#move(thing, rank, next);
  }

  /** At zero the item leaves the ranking. */
  decrease(thing: Thing): void {
    const rank = this.#rankOf.get(thing);
    if (rank === undefined) return;
    if (rank.count === 1) {
      this.#rankOf.delete(thing);
      this.#leave(thing, rank);
      return;
    }
    const count = rank.count - 1;
    const below = rank.lower;
    this.#move(thing, rank, below?.count === count ? below : this.#insert(count, below, rank));
  }

  /** The items with the largest counts, largest first, at most this many. */
  first(countMax: number): Thing[] {
    const things: Thing[] = [];
    for (let rank = this.#highest; rank !== undefined; rank = rank.lower) {
      for (const thing of rank.members) {
        if (things.length >= countMax) return things;
        things.push(thing);
      }
    }
    return things;
  }

  #insert(count: number, lower: Rank<Thing> | undefined, higher: Rank<Thing> | undefined): Rank<Thing> {
    const rank: Rank<Thing> = { count, members: new Set(), higher, lower };
    if (lower === undefined) this.#lowest = rank;
    else lower.higher = rank;
    if (higher === undefined) this.#highest = rank;
    else higher.lower = rank;
    return rank;
  }

  #move(thing: Thing, from: Rank<Thing> | undefined, to: Rank<Thing>): void {
    to.members.add(thing);
    this.#rankOf.set(thing, to);
    if (from !== undefined) this.#leave(thing, from);
  }

  #leave(thing: Thing, rank: Rank<Thing>): void {
    rank.members.delete(thing);
    if (rank.members.size > 0) return;
    if (rank.lower === undefined) this.#lowest = rank.higher;
    else rank.lower.higher = rank.higher;
    if (rank.higher === undefined) this.#highest = rank.lower;
    else rank.higher.lower = rank.lower;
  }
}
