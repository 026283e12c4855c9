import { expect, test } from 'vitest';
import { instanceOf, modelWith } from '../testing/entries.ts';
import { Throughput } from './throughput.ts';

test('it is the sum of the measured instances, and the others count as average', () => {
  const model = modelWith();
  const [first, second, third] = [instanceOf(model, 1), instanceOf(model, 2), instanceOf(model, 3)];
  const throughput = new Throughput();
  for (const instance of [first, second, third]) throughput.add(instance);
  expect(throughput.rowsPerMs).toBe(0);
  first.speed.note(8, 4);
  throughput.measure(first, 8);
  expect(throughput.rowsPerMs).toBeCloseTo(6);
  second.speed.note(8, 8);
  throughput.measure(second, 8);
  expect(throughput.rowsPerMs).toBeCloseTo(4.5);
  throughput.remove(third);
  expect(throughput.rowsPerMs).toBeCloseTo(3);
  throughput.remove(first);
  throughput.remove(second);
  expect(throughput.rowsPerMs).toBe(0);
});

test('a newer measurement replaces the older one', () => {
  const instance = instanceOf(modelWith(), 1);
  const throughput = new Throughput();
  throughput.add(instance);
  for (let run = 0; run < 200; run++) {
    instance.speed.note(1, run < 100 ? 2 : 4);
    throughput.measure(instance, 1);
  }
  expect(throughput.rowsPerMs).toBeCloseTo(0.25);
});

test('a run that took no time by the clock is no measurement', () => {
  const instance = instanceOf(modelWith(), 1);
  const throughput = new Throughput();
  throughput.add(instance);
  instance.speed.note(1, 0);
  throughput.measure(instance, 1);
  expect(throughput.rowsPerMs).toBe(0);
});
