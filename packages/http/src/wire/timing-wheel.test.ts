import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimingWheel, tickMs, WheelEntry, wakeMsPerTurn } from './timing-wheel.ts';

class Probe extends WheelEntry {
  readonly wokenMs: number[] = [];
  onDue(nowMs: number): void {
    this.wokenMs.push(nowMs);
  }
}

function wheelAt(startMs: number): { wheel: TimingWheel; goTo: (ms: number) => void } {
  let now = startMs;
  const wheel = new TimingWheel({ nowMs: () => now });
  return {
    wheel,
    goTo: (ms) => {
      now = ms;
      wheel.advance();
    },
  };
}

test('an entry wakes once, never early and at most one tick late', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 50 }), (delays) => {
      const { wheel, goTo } = wheelAt(12_345);
      const probes = delays.map((delay) => {
        const probe = new Probe();
        wheel.set(probe, 12_345 + delay);
        return probe;
      });
      for (let ms = 12_345; ms <= 12_345 + 100_000 + 2 * tickMs; ms += tickMs) goTo(ms);
      for (const [at, probe] of probes.entries()) {
        expect(probe.wokenMs).toHaveLength(1);
        const late = (probe.wokenMs[0] as number) - (12_345 + (delays[at] as number));
        expect(late).toBeGreaterThanOrEqual(0);
        expect(late).toBeLessThanOrEqual(2 * tickMs);
      }
      expect(wheel.count).toBe(0);
    }),
    { seed: 1, numRuns: 30 },
  );
});

test('a cleared entry does not wake, a moved one wakes at its new time', () => {
  const { wheel, goTo } = wheelAt(0);
  const cleared = new Probe();
  const moved = new Probe();
  wheel.set(cleared, 500);
  wheel.set(moved, 500);
  wheel.set(moved, 1500);
  wheel.clear(cleared);
  goTo(1000);
  expect([cleared.wokenMs, moved.wokenMs]).toEqual([[], []]);
  goTo(1600);
  expect([cleared.wokenMs, moved.wokenMs]).toEqual([[], [1600]]);
});

test('an entry may cancel its neighbour while both are due', () => {
  const { wheel, goTo } = wheelAt(0);
  const neighbour = new Probe();
  class Remover extends WheelEntry {
    onDue(): void {
      wheel.clear(neighbour);
    }
  }
  wheel.set(neighbour, 300);
  wheel.set(new Remover(), 300);
  goTo(400);
  expect(neighbour.wokenMs).toEqual([]);
  expect(wheel.count).toBe(0);
});

test('after a stall longer than a turn everything due wakes once', () => {
  const { wheel, goTo } = wheelAt(0);
  const probes = [200, 30_000, 900_000].map((due) => {
    const probe = new Probe();
    wheel.set(probe, due);
    return probe;
  });
  goTo(1_000_000);
  expect(probes.map((probe) => probe.wokenMs.length)).toEqual([1, 1, 1]);
});

test('what is due at once wakes over several advances where one may take only so long', () => {
  let now = 0;
  const wheel = new TimingWheel({ nowMs: () => now });
  class Slow extends WheelEntry {
    wakes = 0;
    onDue(): void {
      this.wakes++;
      now += wakeMsPerTurn / 4;
    }
  }
  const entries = [300, 400].flatMap((due) => Array.from({ length: 20 }, () => [due, new Slow()] as const));
  for (const [due, entry] of entries) wheel.set(entry, due);
  now = 500;
  const counts: number[] = [];
  for (let isDone = false; !isDone; ) {
    isDone = wheel.advance(wakeMsPerTurn);
    counts.push(40 - wheel.count);
  }
  expect(counts).toEqual([5, 10, 15, 20, 25, 30, 35, 40, 40]);
  expect(entries.every(([, { wakes }]) => wakes === 1)).toBe(true);
});
