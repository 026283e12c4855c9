import type { HeaderFields } from './exchange.ts';

const noValues: readonly string[] = [];

/**
 * Header fields over the flat list `[name, value, name, value, …]` that a parser returns. Requests carry a dozen
 * fields and handlers read two or three of them: a scan is cheaper than building a map for every request.
 */
export class RawHeaderFields implements HeaderFields {
  readonly #flat: readonly string[];
  #lowered: string[] | undefined;

  constructor(flat: readonly string[]) {
    this.#flat = flat;
  }

  get(name: string): string | undefined {
    const names = this.#names();
    const index = names.indexOf(name);
    return index < 0 ? undefined : this.#flat[index * 2 + 1];
  }

  getAll(name: string): readonly string[] {
    const names = this.#names();
    let index = names.indexOf(name);
    if (index < 0) return noValues;
    const values: string[] = [];
    while (index >= 0) {
      values.push(this.#flat[index * 2 + 1] ?? '');
      index = names.indexOf(name, index + 1);
    }
    return values;
  }

  has(name: string): boolean {
    return this.#names().includes(name);
  }

  *entries(): IterableIterator<readonly [name: string, value: string]> {
    const names = this.#names();
    for (let index = 0; index < names.length; index++) {
      yield [names[index] ?? '', this.#flat[index * 2 + 1] ?? ''];
    }
  }

  #names(): string[] {
    if (this.#lowered !== undefined) return this.#lowered;
    const lowered: string[] = [];
    for (let index = 0; index < this.#flat.length; index += 2) lowered.push((this.#flat[index] ?? '').toLowerCase());
    this.#lowered = lowered;
    return lowered;
  }
}

export const noHeaderFields: HeaderFields = new RawHeaderFields([]);
