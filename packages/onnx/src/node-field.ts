/** Nodes and attributes as fields of a graph. */
import { graphFields } from './rewrite-graph.ts';
import { type Chunks, delimitedField, signedField, textField } from './wire-writer.ts';

const attributeTypes = { integer: 2, integers: 7 } as const;

export function nodeField(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attribute: Chunks = [],
): Uint8Array[] {
  return delimitedField(graphFields.node, [
    ...inputs.flatMap((name) => textField(1, name)),
    ...outputs.flatMap((name) => textField(2, name)),
    ...textField(4, operator),
    ...attribute,
  ]);
}

/** A Constant that is a list of integers. */
export function integersField(output: string, values: readonly number[]): Uint8Array[] {
  return nodeField('Constant', [], [output], integersAttribute('value_ints', values));
}

export function integerAttribute(name: string, value: number): Uint8Array[] {
  return delimitedField(5, [
    ...textField(1, name),
    ...signedField(3, value),
    ...signedField(20, attributeTypes.integer),
  ]);
}

export function integersAttribute(name: string, values: readonly number[]): Uint8Array[] {
  return delimitedField(5, [
    ...textField(1, name),
    ...values.flatMap((value) => signedField(8, value)),
    ...signedField(20, attributeTypes.integers),
  ]);
}
