/**
 * A map from whole numbers to what is in flight, for entries that come and go with every request. Unlike `Map` it makes no new table while as
 * many come as go: those that V8 makes for a `Map` each refer to the next one, so that once one of them is in the old generation all later
 * ones, with the requests in them, stay until the whole heap is collected (docs/adr/0122-tables-of-requests.md).
 */
const slotsMin = 8;
/** A larger table is given up when it is empty. */
const slotsKept = 64;
const free = -1;

export class IdMap<Value> {
  /** Of each slot; lists of no slots until there is an entry. */
  #ids: number[] = [];
  #values: (Value | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Value | undefined {
    return this.#size === 0 ? undefined : this.#values[this.#slotOf(id)];
  }

  has(id: number): boolean {
    return this.#size > 0 && this.#ids[this.#slotOf(id)] === id;
  }

  /** `id`: a whole number from 0 on. */
  set(id: number, value: Value): void {
    if (this.#size * 2 >= this.#ids.length) this.#resize(Math.max(slotsMin, this.#ids.length * 2));
    const slot = this.#slotOf(id);
    if (this.#ids[slot] === free) this.#size += 1;
    this.#ids[slot] = id;
    this.#values[slot] = value;
  }

  delete(id: number): boolean {
    if (this.#size === 0) return false;
    let slot = this.#slotOf(id);
    if (this.#ids[slot] === free) return false;
    this.#size -= 1;
    if (this.#size === 0 && this.#ids.length > slotsKept) {
      this.#ids = [];
      this.#values = [];
      return true;
    }
    // What was pushed behind this slot by others moves up, so that no search ends before it.
    const last = this.#ids.length - 1;
    for (let at = (slot + 1) & last; this.#ids[at] !== free; at = (at + 1) & last) {
      const from = this.#homeOf(this.#ids[at] as number);
      if (((at - from) & last) < ((at - slot) & last)) continue;
      this.#ids[slot] = this.#ids[at] as number;
      this.#values[slot] = this.#values[at];
      slot = at;
    }
    this.#ids[slot] = free;
    this.#values[slot] = undefined;
    return true;
  }

  clear(): void {
    this.#ids = [];
    this.#values = [];
    this.#size = 0;
  }

  /** As they are now, by id: entries may come and go meanwhile. */
  entries(): readonly (readonly [number, Value])[] {
    if (this.#size === 0) return [];
    const entries: (readonly [number, Value])[] = [];
    for (let slot = 0; slot < this.#ids.length; slot++) {
      const id = this.#ids[slot] as number;
      if (id !== free) entries.push([id, this.#values[slot] as Value]);
    }
    return entries.sort(([a], [b]) => a - b);
  }

  values(): readonly Value[] {
    return this.entries().map(([, value]) => value);
  }

  /** Where the id is, or the free slot where it belongs. */
  #slotOf(id: number): number {
    const ids = this.#ids;
    const last = ids.length - 1;
    let slot = this.#homeOf(id);
    while (ids[slot] !== id && ids[slot] !== free) slot = (slot + 1) & last;
    return slot;
  }

  /** Clients choose some of the ids: mixed, so that no usual series of them shares its slots. */
  #homeOf(id: number): number {
    const mixed = Math.imul(id, 0x9e3779b1);
    return (mixed ^ (mixed >>> 15)) & (this.#ids.length - 1);
  }

  #resize(slots: number): void {
    const [ids, values] = [this.#ids, this.#values];
    this.#ids = new Array<number>(slots).fill(free);
    this.#values = new Array<Value | undefined>(slots).fill(undefined);
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] as number;
      if (id === free) continue;
      const slot = this.#slotOf(id);
      this.#ids[slot] = id;
      this.#values[slot] = values[at];
    }
  }
}
