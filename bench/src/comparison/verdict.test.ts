import { expect, test } from 'vitest';
import { comparisonVerdictOn, instancesMin, type Pair, pairsMin } from './verdict.ts';

/** Instances with some noise, where the second server is by these factors faster and dearer. */
function instancesOf(rate: number, micros: number, count = 5, pairs = 20): Pair[][] {
  return Array.from({ length: count }, (_, instance) =>
    Array.from({ length: pairs }, (_, index) => ({
      before: { answered: 400, requestsPerSecond: 1000 + 2 * (index % 3), serverMicros: 50 + 0.1 * (index % 3) },
      after: {
        answered: 400,
        requestsPerSecond: (1000 + 2 * ((index + instance) % 3)) * rate,
        serverMicros: (50 + 0.1 * ((index + instance) % 2)) * micros,
      },
    })),
  );
}

/** The throughput of the second server in instance `index` changed by `factor(index)`. */
function withRates(instances: Pair[][], factor: (instance: number) => number): Pair[][] {
  return instances.map((pairs, instance) =>
    pairs.map(({ before, after }) => ({
      before,
      after: { ...after, requestsPerSecond: after.requestsPerSecond * factor(instance) },
    })),
  );
}

test('equal servers, and one that is slower by less than the bounds, are no slower', () => {
  expect(comparisonVerdictOn(instancesOf(1, 1)).outcome).toBe('no slower');
  expect(comparisonVerdictOn(instancesOf(0.98, 1.02)).outcome).toBe('no slower');
});

test('more processor time a request or less throughput than the bounds allow is slower', () => {
  expect(comparisonVerdictOn(instancesOf(1, 1.06)).outcome).toBe('slower');
  expect(comparisonVerdictOn(instancesOf(0.9, 1)).outcome).toBe('slower');
});

test('one condition that is missed is enough, however unclear the other is', () => {
  const unclear = withRates(instancesOf(1, 1.06), (instance) => (instance % 2 === 0 ? 1.1 : 0.8));
  expect(comparisonVerdictOn(unclear).outcome).toBe('slower');
});

test('instances that disagree by more than the bound give no verdict', () => {
  const { rateInterval, outcome } = comparisonVerdictOn(
    withRates(instancesOf(1, 1), (instance) => (instance % 2 === 0 ? 1 : 0.9)),
  );
  expect(rateInterval[0]).toBeLessThan(0.97);
  expect(rateInterval[1]).toBeGreaterThan(0.97);
  expect(outcome).toBe('cannot tell');
});

test('a narrow interval around a bound is a verdict: throughput by its upper end, processor time by the median', () => {
  const around = (bound: number) => (instance: number) => bound * (1 + (instance - 2) / 500);
  expect(comparisonVerdictOn(withRates(instancesOf(1, 1), around(0.97))).outcome).toBe('no slower');
  expect(comparisonVerdictOn(instancesOf(1, 1.0315)).outcome).toBe('slower');
});

test('too few pairs or instances give figures and no verdict', () => {
  expect(comparisonVerdictOn(instancesOf(0.5, 2, instancesMin - 1, 100))).toMatchObject({ outcome: 'cannot tell' });
  expect(comparisonVerdictOn(instancesOf(0.5, 2, pairsMin - 1, 1))).toMatchObject({ outcome: 'cannot tell' });
  expect(comparisonVerdictOn(instancesOf(0.5, 2, pairsMin, 1)).outcome).toBe('slower');
});

test('ratios are taken within pairs, so that a machine that becomes slower harms neither', () => {
  const drifting = instancesOf(1, 1).map((pairs) =>
    pairs.map(({ before, after }, index) => {
      const speed = 1 - 0.02 * index;
      const slowed = (measurement: Pair['before']): Pair['before'] => ({
        ...measurement,
        requestsPerSecond: measurement.requestsPerSecond * speed,
        serverMicros: measurement.serverMicros / speed,
      });
      return { before: slowed(before), after: slowed(after) };
    }),
  );
  const { rateRatio, rateInterval, microsRatio } = comparisonVerdictOn(drifting);
  expect(rateRatio).toBeCloseTo(1, 2);
  expect(microsRatio).toBeCloseTo(1, 2);
  expect(rateInterval[1] - rateInterval[0]).toBeLessThan(0.01);
});

test('the total tells what the median hides: a cost in few slices', () => {
  const rarely = instancesOf(1, 1).map((pairs) =>
    pairs.map(({ before, after }, index) => ({
      before,
      after: { ...after, serverMicros: after.serverMicros * (index % 10 === 0 ? 2 : 1) },
    })),
  );
  const { microsRatio, microsTotalRatio } = comparisonVerdictOn(rarely);
  expect(microsRatio).toBeCloseTo(1, 2);
  expect(microsTotalRatio).toBeCloseTo(1.1, 2);
});
