/** The elements of small tensors of whole numbers: shapes, axes, indices. */
import { Size } from './size.ts';
import type { Symbols } from './symbols.ts';
import { unknown, type Value } from './value.ts';

/** Beyond this, numbers wrap around or are rounded in some type: they are not computed with. */
export const exactMax = 2 ** 24;

/** Most elements of a tensor whose contents are tracked. */
export const contentsMax = 64;

const named = new WeakMap<Value, readonly Size[]>();

/** Each element as a size; for a plain tensor of known shape only, a symbol each. Undefined: not tracked. */
export function contentsOf(value: Value, symbols: Symbols): readonly Size[] | undefined {
  if (value.kind === 'counted') return value.contents;
  if (value.kind !== 'plain') return undefined;
  if (value.contents !== undefined) return value.contents;
  const known = named.get(value);
  if (known !== undefined) return known;
  const count = elementCountOf(value);
  if (count === undefined || count > contentsMax) return undefined;
  const contents = wholeConstants(value.numbers) ?? Array.from({ length: count }, () => symbols.element());
  named.set(value, contents);
  return contents;
}

/** Undefined unless all are whole and exact in every type. */
export function wholeConstants(numbers: readonly number[] | undefined): readonly Size[] | undefined {
  const areWhole = numbers?.every((number) => Number.isInteger(number) && Math.abs(number) <= exactMax) === true;
  return areWhole ? numbers.map((number) => Size.constant(number)) : undefined;
}

export function mustHaveContents(value: Value, symbols: Symbols, what: string): readonly Size[] {
  const contents = contentsOf(value, symbols);
  if (contents === undefined) throw unknown(`${what} is not known before the run`);
  return contents;
}

/** The elements as numbers, where they are constants. */
export function constantsOf(value: Value): readonly number[] | undefined {
  if (value.kind !== 'plain') return undefined;
  if (value.numbers !== undefined) return value.numbers;
  const constants = value.contents?.map((size) => size.constantValue);
  return constants?.every((number) => number !== undefined) === true ? constants : undefined;
}

export function mustBeConstants(value: Value, what: string): readonly number[] {
  const constants = constantsOf(value);
  if (constants === undefined) throw unknown(`${what} is not a constant`);
  return constants;
}

/** Undefined when it depends on symbols. */
export function elementCountOf({ dims }: Value): number | undefined {
  if (dims === undefined) return undefined;
  return Size.product(dims)?.constantValue;
}
