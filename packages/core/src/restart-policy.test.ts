import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanRestartRecord, defaultRestartPolicy, restartAfter } from './restart-policy.ts';

/** The pauses of a worker that dies at once, over and over, with the longest jitter. */
function pausesOf(deaths: number, jitter: number): number[] {
  const pauses: number[] = [];
  let record = cleanRestartRecord;
  for (let death = 0; death < deaths; death++) {
    const restart = restartAfter(record, { aliveMs: 0, batchesAnswered: 0 }, jitter);
    record = restart.record;
    pauses.push(restart.pauseMs);
  }
  return pauses;
}

test('the first restart is at once, then pauses double from 100 ms to 10 s', () => {
  const halves = [0, 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000];
  expect(pausesOf(10, 0)).toEqual(halves);
});

test('jitter spreads a pause over its upper half', () => {
  expect(pausesOf(3, 0.5)).toEqual([0, 75, 150]);
});

test('no pause is longer than the maximum, however many deaths and whatever the jitter', () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (deaths, jitter) => {
      const { pauseMs } = restartAfter({ deaths }, { aliveMs: 0, batchesAnswered: 0 }, jitter);
      expect(pauseMs).toBeGreaterThanOrEqual(0);
      expect(pauseMs).toBeLessThanOrEqual(defaultRestartPolicy.pauseMsMax);
    }),
    { seed: 1 },
  );
});

test('stable uptime resets the count: the next restart is immediate again', () => {
  const { stableMs } = defaultRestartPolicy;
  expect(restartAfter({ deaths: 7 }, { aliveMs: stableMs - 1, batchesAnswered: 0 }, 0)).toMatchObject({
    record: { deaths: 8 },
  });
  expect(restartAfter({ deaths: 7 }, { aliveMs: stableMs, batchesAnswered: 0 }, 0)).toEqual({
    record: { deaths: 1 },
    pauseMs: 0,
    isCrashLoop: false,
  });
});

test('five deaths in a row are a crash loop, and stable uptime ends it', () => {
  expect(restartAfter({ deaths: 3 }, { aliveMs: 0, batchesAnswered: 0 }, 0).isCrashLoop).toBe(false);
  expect(restartAfter({ deaths: 4 }, { aliveMs: 0, batchesAnswered: 0 }, 0).isCrashLoop).toBe(true);
  expect(restartAfter({ deaths: 100 }, { aliveMs: 60_000, batchesAnswered: 0 }, 0).isCrashLoop).toBe(false);
});

test('a worker that answered a batch is restarted at once, however short its uptime', () => {
  const restart = restartAfter({ deaths: 7 }, { aliveMs: 1, batchesAnswered: 1 }, 0);
  expect(restart).toEqual({ record: { deaths: 1 }, pauseMs: 0, isCrashLoop: false });
});
