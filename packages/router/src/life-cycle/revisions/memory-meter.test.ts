import { expect, test } from 'vitest';
import { HeldClock } from '../../data-plane/testing/held-clock.ts';
import type { RunningModels } from '../../dispatch/worker-group.ts';
import type { KeeperLoop } from './keeper-loop.ts';
import type { KnownRevisions } from './known-revisions.ts';
import { MemoryMeter } from './memory-meter.ts';
import type { MeasureProcess } from './resident-memory.ts';
import type { Revision } from './revision.ts';

/** A meter of two revisions in the processes 1 and 2, where every process has 100 bytes when it is measured aside and 7 otherwise. */
class MeteredRevisions {
  readonly clock = new HeldClock();
  readonly asked: (readonly number[])[] = [];
  readonly told: number[] = [];
  readonly meter: MemoryMeter;
  #answer: (measure: MeasureProcess) => void = () => {};

  constructor() {
    const revisions = [revisionIn(1), revisionIn(1, 2)];
    this.meter = new MemoryMeter({
      clock: this.clock,
      measure: () => 7,
      measureAside: (pids) => {
        this.asked.push(pids);
        return new Promise((resolve) => {
          this.#answer = resolve;
        });
      },
      listener: { memoryMeasured: () => {} },
      revisions: { all: () => revisions } as unknown as KnownRevisions,
      loop: {
        tell: ({ residentBytes }: { readonly residentBytes: number }) => this.told.push(residentBytes),
        keeper: { usedBytes: 0 },
      } as unknown as KeeperLoop,
    });
  }

  async answer(): Promise<void> {
    this.#answer(() => 100);
    await new Promise(setImmediate);
  }
}

function revisionIn(...pids: readonly number[]): Revision {
  const running: Pick<RunningModels, 'isSettled' | 'memory'> = {
    isSettled: true,
    memory: () => pids.map((pid) => ({ pid, residentBytes: 1, share: 1 })),
  };
  return { running, plan: { lane: 'local' }, models: [], members: [] } as unknown as Revision;
}

test('processes are measured aside, each once, and again a while after that has ended', async () => {
  const metered = new MeteredRevisions();
  metered.meter.measureEvery(1000);
  metered.clock.advance(1000);
  expect(metered.asked).toEqual([[1, 2]]);
  expect(metered.told).toEqual([]);
  metered.clock.advance(5000);
  expect(metered.asked).toHaveLength(1);
  await metered.answer();
  expect(metered.told).toEqual([100, 200]);
  metered.clock.advance(1000);
  expect(metered.asked).toHaveLength(2);
});

test('several who ask at once share one measurement, and one that was just made is not repeated', async () => {
  const metered = new MeteredRevisions();
  const asking = [metered.meter.measureAside(), metered.meter.measureAside()];
  expect(metered.asked).toEqual([[1, 2]]);
  await metered.answer();
  await Promise.all(asking);
  await metered.meter.measureAside();
  expect(metered.told).toEqual([100, 200]);
  metered.clock.advance(500);
  void metered.meter.measureAside();
  expect(metered.asked).toHaveLength(2);
});

test('what is measured for a request that waits for room is measured at once', () => {
  const metered = new MeteredRevisions();
  metered.meter.measure();
  expect(metered.asked).toEqual([]);
  expect(metered.told).toEqual([7, 14]);
});

test('a meter that was stopped while it measured tells nothing more', async () => {
  const metered = new MeteredRevisions();
  metered.meter.measureEvery(1000);
  metered.clock.advance(1000);
  metered.meter.stop();
  await metered.answer();
  expect(metered.told).toEqual([]);
  expect(metered.clock.timerCount).toBe(0);
});
