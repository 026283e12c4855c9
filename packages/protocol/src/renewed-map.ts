/**
 * A `Map` for entries that come and go with every request under keys that are not numbers: from time to time they move to a new `Map`, so
 * that none of V8's tables refers to later ones for long. `IdMap` says what that would do. Not to be gone through, which would miss removals.
 */
const removalsMin = 8;

export class RenewedMap<Key, Value> {
  #map = new Map<Key, Value>();
  /** Since the last move: about as many as there are entries, so that moving costs no more than they did. */
  #removals = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  set(key: Key, value: Value): void {
    this.#map.set(key, value);
  }

  delete(key: Key): boolean {
    if (!this.#map.delete(key)) return false;
    this.#removals += 1;
    if (this.#removals > Math.max(removalsMin, this.#map.size)) {
      this.#map = new Map(this.#map);
      this.#removals = 0;
    }
    return true;
  }
}
