import { expect, test } from 'vitest';
import { defaultHealthPolicy, WorkerHealth } from './worker-health.ts';

const { halfLifeMs } = defaultHealthPolicy;

test('a death counts full at first, half after the half-life, and is forgotten in the end', () => {
  const health = new WorkerHealth(defaultHealthPolicy, 10);
  const record = health.recordOf(1);
  expect(health.scoreOf(record, 0)).toBe(0);
  health.noteDeath(record, 1000);
  expect(health.scoreOf(record, 1000)).toBe(1);
  expect(health.scoreOf(record, 1000 + halfLifeMs)).toBe(0.5);
  expect(health.scoreOf(record, 1000 + 4 * halfLifeMs)).toBe(0.0625);
  expect(health.scoreOf(record, 1001 + 4 * halfLifeMs)).toBe(0);
});

test('failures add up, and a failed batch weighs less than a death', () => {
  const health = new WorkerHealth(defaultHealthPolicy, 10);
  const record = health.recordOf(1);
  health.noteFailedBatch(record, 0);
  expect(health.scoreOf(record, 0)).toBe(0.125);
  health.noteDeath(record, halfLifeMs);
  expect(health.scoreOf(record, halfLifeMs)).toBe(1.0625);
});

test('the successor under the same id inherits the record', () => {
  const health = new WorkerHealth(defaultHealthPolicy, 10);
  health.noteDeath(health.recordOf(7), 0);
  expect(health.scoreOf(health.recordOf(7), 0)).toBe(1);
});

test('records are bounded: the one made first goes first', () => {
  const health = new WorkerHealth(defaultHealthPolicy, 2);
  health.noteDeath(health.recordOf(1), 0);
  health.noteDeath(health.recordOf(2), 0);
  health.recordOf(3);
  expect(health.recordCount).toBe(2);
  expect(health.scoreOf(health.recordOf(2), 0)).toBe(1);
  expect(health.scoreOf(health.recordOf(1), 0)).toBe(0);
});
