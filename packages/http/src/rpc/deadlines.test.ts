import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { WheelEntry } from '../wire/timing-wheel.ts';
import { Deadlines } from './deadlines.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

class Entry extends WheelEntry {
  dueTimes = 0;
  override onDue(): void {
    this.dueTimes += 1;
  }
}

test('a deadline fires once, not before its time, and the clock stops when there is none', () => {
  const deadlines = new Deadlines({ nowMs: () => Date.now() });
  const entry = new Entry();
  deadlines.set(entry, 130);
  vi.advanceTimersByTime(120);
  expect(entry.dueTimes).toBe(0);
  vi.advanceTimersByTime(60);
  expect(entry.dueTimes).toBe(1);
  vi.advanceTimersByTime(20);
  expect(vi.getTimerCount()).toBe(0);
});

test('after a long idle time a deadline still fires in time', () => {
  const deadlines = new Deadlines({ nowMs: () => Date.now() });
  const first = new Entry();
  deadlines.set(first, 10);
  vi.advanceTimersByTime(100);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(3_600_000);
  const second = new Entry();
  deadlines.set(second, 50_000);
  vi.advanceTimersByTime(49_900);
  expect(second.dueTimes).toBe(0);
  vi.advanceTimersByTime(200);
  expect([first.dueTimes, second.dueTimes]).toEqual([1, 1]);
});

test('one that was cleared does not fire', () => {
  const deadlines = new Deadlines({ nowMs: () => Date.now() });
  const entry = new Entry();
  deadlines.set(entry, 30);
  deadlines.clear(entry);
  vi.advanceTimersByTime(200);
  expect([entry.dueTimes, deadlines.count, vi.getTimerCount()]).toEqual([0, 0, 0]);
});
