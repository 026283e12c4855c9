import { expect, test } from 'vitest';
import { PositionalRandom, philox4x32 } from './philox.ts';

// The vectors of Random123 (kat_vectors, philox4x32 10).
test.each([
  ['00000000 00000000 00000000 00000000', '00000000 00000000', '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
  ['ffffffff ffffffff ffffffff ffffffff', 'ffffffff ffffffff', '408f276d 41c83b0e a20bc7c6 6d5451fd'],
  ['243f6a88 85a308d3 13198a2e 03707344', 'a4093822 299f31d0', 'd16cfe09 94fdcceb 5001e420 24126ea1'],
])('philox4x32-10 of counter %s and key %s is the published one', (counter, key, expected) => {
  const words = Uint32Array.from(numbersOf(counter));
  const [low = 0, high = 0] = numbersOf(key);
  philox4x32(words, low, high);
  expect([...words]).toEqual(numbersOf(expected));
});

function numbersOf(text: string): number[] {
  return text.split(' ').map((word) => Number.parseInt(word, 16));
}

test('a position draws the same whatever was drawn before', () => {
  const straight = new PositionalRandom(7n);
  const drawn = Array.from({ length: 100 }, (_, position) => straight.at(position));
  const resumed = new PositionalRandom(7n);
  for (let position = 99; position >= 0; position--) expect(resumed.at(position)).toBe(drawn[position]);
});

test('neighbouring seeds and all 64 bits of a seed give different numbers', () => {
  const seeds = [0n, 1n, 2n, 1n << 31n, 1n << 32n, 1n << 63n, (1n << 64n) - 1n];
  const drawn = new Set(
    seeds.flatMap((seed) => [0, 1, 2 ** 32, 2 ** 40].map((at) => new PositionalRandom(seed).at(at))),
  );
  expect(drawn.size).toBe(seeds.length * 4);
});

test('numbers are spread evenly from 0 to below 1', () => {
  const random = new PositionalRandom(123n);
  const counts = new Array<number>(16).fill(0);
  const draws = 16_000;
  for (let position = 0; position < draws; position++) {
    const drawn = random.at(position);
    const bin = Math.floor(drawn * 16);
    counts[bin] = (counts[bin] as number) + 1;
  }
  expect(counts.length).toBe(16);
  const chiSquare = counts.reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0);
  // 15 degrees of freedom: 37.7 is exceeded by one seed in a thousand, and this one is fixed.
  expect(chiSquare).toBeLessThan(37.7);
});
