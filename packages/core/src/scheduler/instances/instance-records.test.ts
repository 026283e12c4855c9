import { expect, test } from 'vitest';
import { defaultBreakerPolicy } from './circuit-breaker.ts';
import { InstanceRecords } from './instance-records.ts';

test('the replacement of a worker under the same id inherits the records of each model', () => {
  const records = new InstanceRecords(defaultBreakerPolicy, 10);
  const record = records.recordOf(7, 'mlp:1');
  expect(records.recordOf(7, 'mlp:1')).toBe(record);
  expect(records.recordOf(7, 'mlp:2')).not.toBe(record);
  expect(records.recordOf(8, 'mlp:1')).not.toBe(record);
});

test('a model that was removed leaves nothing behind', () => {
  const records = new InstanceRecords(defaultBreakerPolicy, 10);
  const record = records.recordOf(7, 'mlp:1');
  records.forgetModel('mlp:1');
  expect(records.workerCount).toBe(0);
  expect(records.recordOf(7, 'mlp:1')).not.toBe(record);
});

test('of a worker that holds other models too, those are remembered', () => {
  const records = new InstanceRecords(defaultBreakerPolicy, 10);
  records.recordOf(7, 'mlp:1');
  const other = records.recordOf(7, 'cnn:1');
  records.forgetModel('mlp:1');
  expect(records.workerCount).toBe(1);
  expect(records.recordOf(7, 'cnn:1')).toBe(other);
});

test('records are bounded: the oldest worker is dropped first', () => {
  const records = new InstanceRecords(defaultBreakerPolicy, 2);
  const first = records.recordOf(1, 'm');
  const second = records.recordOf(2, 'm');
  records.recordOf(3, 'm');
  expect(records.workerCount).toBe(2);
  expect(records.recordOf(2, 'm')).toBe(second);
  expect(records.recordOf(1, 'm')).not.toBe(first);
});
