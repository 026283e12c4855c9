import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RunSpeed } from './run-speed.ts';

function measured(...runs: readonly (readonly [rows: number, ms: number])[]): RunSpeed {
  const speed = new RunSpeed();
  for (const [rows, ms] of runs) speed.note(rows, ms);
  return speed;
}

test('nothing is known before the first run', () => {
  const speed = new RunSpeed();
  expect(speed.isKnown).toBe(false);
  expect(speed.runMs(8)).toBe(0);
});

test('runs of different sizes tell what a run costs and what a row costs', () => {
  const speed = measured([1, 3], [8, 10], [4, 6], [2, 4]);
  expect(speed.runMs(1)).toBeCloseTo(3);
  expect(speed.runMs(32)).toBeCloseTo(34);
});

test('runs of one size are a guess for others: no less for fewer rows, in proportion for more', () => {
  const speed = measured([4, 8], [4, 8], [4, 8]);
  expect(speed.runMs(1)).toBeCloseTo(8);
  expect(speed.runMs(4)).toBeCloseTo(8);
  expect(speed.runMs(8)).toBeCloseTo(16);
});

test('a worker that becomes slower is known for it after some ten runs', () => {
  const speed = measured(...Array.from({ length: 100 }, () => [1, 2] as const));
  for (let run = 0; run < 22; run++) speed.note(1, 20);
  expect(speed.runMs(1)).toBeGreaterThan(17);
});

test('one run that took a thousand times as long is forgotten after twenty more', () => {
  const speed = measured(...Array.from({ length: 20 }, () => [1, 2] as const), [1, 2000]);
  expect(speed.runMs(1)).toBeLessThan(4);
  for (let run = 0; run < 20; run++) speed.note(1, 2);
  expect(speed.runMs(1)).toBeLessThan(2.5);
});

test('a first run that took a thousand times as long is forgotten after twenty more', () => {
  const speed = measured([1, 2000], ...Array.from({ length: 20 }, () => [1, 2] as const));
  expect(speed.runMs(1)).toBeLessThan(20);
});

test('runs that really take a thousand times as long are the expectation after some twenty', () => {
  const speed = measured(...Array.from({ length: 20 }, () => [1, 2] as const));
  for (let run = 0; run < 30; run++) speed.note(1, 2000);
  expect(speed.runMs(1)).toBeGreaterThan(1000);
});

test('of runs that are short and long in turn it is the mean, or somewhat less', () => {
  const speed = new RunSpeed();
  for (let run = 0; run < 200; run++) speed.note(1, run % 2 === 0 ? 1 : 1000);
  expect(speed.runMs(1)).toBeGreaterThan(100);
  expect(speed.runMs(1)).toBeLessThan(800);
});

test('an estimate is never negative, and never less for more rows', () => {
  const run = fc.tuple(fc.integer({ min: 1, max: 512 }), fc.double({ min: 0, max: 1e6, noNaN: true }));
  fc.assert(
    fc.property(fc.array(run, { minLength: 1, maxLength: 40 }), (runs) => {
      const speed = measured(...runs);
      let before = 0;
      for (const rows of [1, 2, 16, 64, 512]) {
        const ms = speed.runMs(rows);
        expect(ms).toBeGreaterThanOrEqual(before - 1e-6 * Math.max(1, before));
        before = ms;
      }
    }),
    { seed: 31, numRuns: 500 },
  );
});
