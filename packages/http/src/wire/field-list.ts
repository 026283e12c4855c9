import type { HeaderFields } from '../exchange.ts';
import type { Field } from './field.ts';

/** Fields in the order they came; looked up by a walk, which for the dozen of a request beats building an index. */
export class FieldList implements HeaderFields {
  readonly fields: readonly Field[];
  memo: unknown = undefined;

  constructor(fields: readonly Field[]) {
    this.fields = fields;
  }

  get(name: string): string | undefined {
    const fields = this.fields;
    for (let at = 0; at < fields.length; at++) {
      const field = fields[at] as Field;
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
