/** A table in memory, for tests and for servers that persist nothing. */
import type { Table, TableHost } from '../table.ts';

export class MemoryTable implements Table, TableHost {
  readonly #bytes = new Map<string, Uint8Array>();
  /** In the order of their UTF-8 bytes, as on disk. */
  readonly #keys: string[] = [];

  get(key: string): Uint8Array | undefined {
    return this.#bytes.get(key);
  }

  put(key: string, bytes: Uint8Array): void {
    if (!this.#bytes.has(key)) this.#keys.splice(this.#firstFrom(key), 0, key);
    this.#bytes.set(key, bytes);
  }

  remove(key: string): void {
    if (this.#bytes.delete(key)) this.#keys.splice(this.#firstFrom(key), 1);
  }

  range(prefix: string): readonly (readonly [key: string, bytes: Uint8Array])[] {
    const found: [string, Uint8Array][] = [];
    for (let index = this.#firstFrom(prefix); index < this.#keys.length; index++) {
      const key = this.#keys[index] as string;
      if (!key.startsWith(prefix)) break;
      found.push([key, this.#bytes.get(key) as Uint8Array]);
    }
    return found;
  }

  read<T>(action: (table: Table) => T): T {
    return action(this);
  }

  async write<T>(action: (table: Table) => T): Promise<T> {
    return action(this);
  }

  async close(): Promise<void> {}

  /** The position of the first key that is not before `key`. */
  #firstFrom(key: string): number {
    const bytes = Buffer.from(key);
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare(Buffer.from(this.#keys[middle] as string), bytes) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
