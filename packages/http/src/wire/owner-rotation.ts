/** Waiting items by owner: owners take turns, so that one with many items does not delay the others. */
export class OwnerRotation<Item> {
  /** Owners in the order of their turns; a Map keeps it, and an owner that still has items goes to the end. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(owner: string, item: Item): void {
    const items = this.#waiting.get(owner);
    if (items === undefined) this.#waiting.set(owner, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** The first item of the owner whose turn it is. */
  take(): Item | undefined {
    for (const [owner, items] of this.#waiting) {
      const item = items.shift() as Item;
      this.#size -= 1;
      this.#waiting.delete(owner);
      if (items.length > 0) this.#waiting.set(owner, items);
      return item;
    }
    return undefined;
  }

  /** False when it no longer waits. */
  remove(owner: string, item: Item): boolean {
    const items = this.#waiting.get(owner);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index === -1) return false;
    items.splice(index, 1);
    if (items.length === 0) this.#waiting.delete(owner);
    this.#size -= 1;
    return true;
  }
}
