import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { one, rowCount, Size } from './size.ts';

const symbols = ['N', 'a', 'b'] as const;
type Values = Readonly<Record<(typeof symbols)[number], number>>;

/** A size together with how it is computed from the values of its symbols. */
interface Sized {
  readonly size: Size;
  readonly at: (values: Values) => number;
}

const leaf: fc.Arbitrary<Sized> = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map((value): Sized => ({ size: Size.constant(value), at: () => value })),
  fc.constantFrom(...symbols).map((name): Sized => ({ size: Size.symbol(name), at: (values) => values[name] })),
);

const sized: fc.Arbitrary<Sized> = fc.letrec<{ node: Sized }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.tuple(tie('node'), tie('node')).map(
      ([left, right]): Sized => ({
        size: left.size.plus(right.size) as Size,
        at: (values) => left.at(values) + right.at(values),
      }),
    ),
    fc.tuple(tie('node'), tie('node')).map(
      ([left, right]): Sized => ({
        size: left.size.times(right.size) as Size,
        at: (values) => left.at(values) * right.at(values),
      }),
    ),
  ),
})).node;

const values = fc.record({
  N: fc.integer({ min: 1, max: 7 }),
  a: fc.integer({ min: 0, max: 7 }),
  b: fc.integer({ min: 0, max: 7 }),
});

/** By its text, which says all of it. */
function computed(size: Size, at: Values): number {
  return size.key.split('+').reduce((sum, term) => {
    const product = term
      .split('*')
      .reduce((result, factor) => result * (symbols.includes(factor as 'N') ? at[factor as 'N'] : Number(factor)), 1);
    return sum + product;
  }, 0);
}

describe('sizes', () => {
  test('sums and products are those of their values', () => {
    fc.assert(
      fc.property(sized, values, ({ size, at }, point) => computed(size, point) === at(point)),
      { seed: 11 },
    );
  });

  test('a quotient times its divisor is the dividend', () => {
    fc.assert(
      fc.property(sized, sized, (left, right) => {
        const quotient = left.size.dividedBy(right.size);
        return quotient === undefined || quotient.times(right.size)?.equals(left.size) === true;
      }),
      { seed: 12 },
    );
  });

  test('a product can be divided by each of its factors that is a single term', () => {
    const term = rowCount.times(Size.constant(6)) as Size;
    expect(term.times(Size.symbol('a'))?.dividedBy(term)?.key).toBe('a');
  });

  test('what does not divide for all values does not divide', () => {
    expect(Size.constant(3).times(rowCount)?.dividedBy(Size.constant(2))).toBeUndefined();
    expect(rowCount.plus(one)?.dividedBy(rowCount)).toBeUndefined();
    expect(rowCount.dividedBy(Size.constant(0))).toBeUndefined();
  });

  test('equal sums are equal however they were written', () => {
    const left = rowCount.plus(one)?.times(rowCount.plus(one) as Size);
    const right = rowCount
      .times(rowCount)
      ?.plus(rowCount.times(Size.constant(2)) as Size)
      ?.plus(one);
    expect(left?.key).toBe(right?.key);
  });

  test('a sum of too many terms is not followed', () => {
    let sum: Size | undefined = one;
    for (let index = 0; index < 30; index += 1) sum = sum?.plus(Size.symbol(`s${index}`));
    expect(sum).toBeUndefined();
  });

  test('a product of too many symbols is not followed', () => {
    let product: Size | undefined = rowCount;
    for (let doublings = 0; doublings < 40; doublings += 1) product = product?.times(product);
    expect(product).toBeUndefined();
  });

  test('a coefficient beyond what is exact is not followed', () => {
    const large = Size.constant(2 ** 52);
    expect(large.times(large)).toBeUndefined();
  });
});
