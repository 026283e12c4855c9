import { expect, test } from 'vitest';
import { StreamAlarms, type WokenStream } from './stream-alarms.ts';

/** Timers that fire when the test says so. */
class FakeClock {
  nowMs = 1000;
  readonly timers = new Map<() => void, number>();

  wallNow(): number {
    return this.nowMs;
  }

  alarm(delayMs: number, callback: () => void): () => void {
    this.timers.set(callback, this.nowMs + delayMs);
    return () => this.timers.delete(callback);
  }

  passTo(nowMs: number): void {
    this.nowMs = nowMs;
    for (const [callback, atMs] of [...this.timers]) {
      if (atMs > nowMs) continue;
      this.timers.delete(callback);
      callback();
    }
  }
}

function alarmsOn(clock: FakeClock) {
  const woken: string[] = [];
  const alarms = new StreamAlarms(clock);
  const stream = (name: string): WokenStream => ({ heapIndex: -1, wakeAtMs: 0, wake: () => woken.push(name) });
  return { alarms, stream, woken };
}

test('streams are woken in the order of their times, each once, by one timer', () => {
  const clock = new FakeClock();
  const { alarms, stream, woken } = alarmsOn(clock);
  alarms.set(stream('late'), 3000);
  alarms.set(stream('early'), 2000);
  alarms.set(stream('middle'), 2500);
  expect(clock.timers.size).toBe(1);
  clock.passTo(1999);
  expect(woken).toEqual([]);
  clock.passTo(2500);
  expect(woken).toEqual(['early', 'middle']);
  expect(clock.timers.size).toBe(1);
  clock.passTo(3000);
  expect(woken).toEqual(['early', 'middle', 'late']);
  expect(clock.timers.size).toBe(0);
});

test('a later time takes the place of an earlier one, and a removed stream is not woken', () => {
  const clock = new FakeClock();
  const { alarms, stream, woken } = alarmsOn(clock);
  const [moved, gone] = [stream('moved'), stream('gone')];
  alarms.set(moved, 2000);
  alarms.set(gone, 2100);
  alarms.set(moved, 4000);
  alarms.remove(gone);
  clock.passTo(3000);
  expect(woken).toEqual([]);
  clock.passTo(4000);
  expect(woken).toEqual(['moved']);
});

test('a stream that asks again while it is woken is woken again', () => {
  const clock = new FakeClock();
  const alarms = new StreamAlarms(clock);
  let woken = 0;
  const stream: WokenStream = {
    heapIndex: -1,
    wakeAtMs: 0,
    wake: () => {
      woken += 1;
      if (woken === 1) alarms.set(stream, 2500);
    },
  };
  alarms.set(stream, 2000);
  clock.passTo(2000);
  expect(woken).toBe(1);
  clock.passTo(2500);
  expect(woken).toBe(2);
});
