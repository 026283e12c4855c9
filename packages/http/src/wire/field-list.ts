import type { HeaderField } from '@millrace/http2';
import type { HeaderFields } from '../exchange.ts';

/** Fields in order of arrival; lookup is a linear scan, which for the dozen of a request beats building an index. */
export class FieldList implements HeaderFields {
  readonly fields: readonly HeaderField[];
  memo: unknown = undefined;
  #listBytes = -1;

  constructor(fields: readonly HeaderField[]) {
    this.fields = fields;
  }

  /** Size as RFC 9113 counts it: the text of each field and 32 more. */
  get listBytes(): number {
    if (this.#listBytes < 0) {
      let bytes = 0;
      for (let at = 0; at < this.fields.length; at++) {
        const field = this.fields[at] as HeaderField;
        bytes += 32 + field.name.length + field.value.length;
      }
      this.#listBytes = bytes;
    }
    return this.#listBytes;
  }

  get(name: string): string | undefined {
    const fields = this.fields;
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at] as HeaderField;
      if (field.name === name) return field.value;
    }
    return undefined;
  }

  getAll(name: string): readonly string[] {
    const values: string[] = [];
    for (const field of this.fields) if (field.name === name) values.push(field.value);
    return values;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  *entries(): Iterable<readonly [name: string, value: string]> {
    for (const field of this.fields) yield [field.name, field.value];
  }
}

export const noFields = new FieldList([]);
