/** Up to this many keys are compared one by one; an object with more gets a set. */
const comparedKeysMax = 16;

/** The keys seen so far in each open object, innermost last. */
export class ObjectKeys {
  readonly #keys: string[] = [];
  /** Where the keys of each open object begin in `#keys`. */
  readonly #starts: number[] = [];
  readonly #sets: (Set<string> | undefined)[] = [];

  open(): void {
    this.#starts.push(this.#keys.length);
    this.#sets.push(undefined);
  }

  close(): void {
    this.#keys.length = this.#starts.pop() as number;
    this.#sets.pop();
  }

  /** How many keys the innermost object has now; 0 when it already had this one. */
  add(key: string): number {
    const start = this.#starts[this.#starts.length - 1] as number;
    const keys = this.#keys;
    if (keys.length - start < comparedKeysMax) {
      for (let index = start; index < keys.length; index += 1) if (keys[index] === key) return 0;
      keys.push(key);
      return keys.length - start;
    }
    const last = this.#sets.length - 1;
    const set = this.#sets[last] ?? new Set(keys.slice(start));
    this.#sets[last] = set;
    if (set.has(key)) return 0;
    set.add(key);
    return set.size;
  }
}
