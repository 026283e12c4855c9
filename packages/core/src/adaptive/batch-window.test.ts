import { expect, test } from 'vitest';
import { BatchWindow } from './batch-window.ts';

test('a window is complete after its number of batches, and begins anew when it is cleared', () => {
  const window = new BatchWindow(3);
  for (let batch = 0; batch < 3; batch++) {
    expect(window.isComplete).toBe(false);
    window.add(4, 1, true, batch);
  }
  expect(window.isComplete).toBe(true);
  window.clear();
  expect(window.isComplete).toBe(false);
  expect(window.p99Ms()).toBe(0);
});

test('throughput counts the rows between the first and the last end', () => {
  const window = new BatchWindow(5);
  for (const time of [100, 110, 120]) window.add(4, 10, true, time);
  expect(window.rowsPerMs).toBeCloseTo(8 / 20);
});

test('the 99th percentile of 100 latencies is the second largest, of few the largest', () => {
  const window = new BatchWindow(100);
  for (let batch = 1; batch <= 100; batch++) window.add(1, batch, false, batch);
  expect(window.p99Ms()).toBe(99);
  window.clear();
  for (const latency of [5, 1, 3]) window.add(1, latency, false, 0);
  expect(window.p99Ms()).toBe(5);
});

test('it is saturated when more than half of the batches were full', () => {
  const window = new BatchWindow(4);
  for (const isFull of [true, false, true, false]) window.add(1, 1, isFull, 0);
  expect(window.isSaturated).toBe(false);
  window.add(1, 1, true, 0);
  expect(window.isSaturated).toBe(true);
});
