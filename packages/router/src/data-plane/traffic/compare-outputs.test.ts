import { fp16From, type Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { areOutputsAlike } from './compare-outputs.ts';

const floats = (...values: number[]): Tensor => ({
  name: 'y',
  datatype: 'FP32',
  shape: [values.length],
  data: new Uint8Array(Float32Array.from(values).buffer),
});
const halves = (...values: number[]): Tensor => ({
  name: 'y',
  datatype: 'FP16',
  shape: [values.length],
  data: new Uint8Array(Uint16Array.from(values.map(fp16From)).buffer),
});
const alike = (a: Tensor, b: Tensor): boolean => areOutputsAlike([a], [b]);

test('floating point may differ in its last digits', () => {
  expect(alike(floats(1, 2), floats(1, 2))).toBe(true);
  expect(alike(floats(1000), floats(1000.05))).toBe(true);
  expect(alike(floats(1000), floats(1001))).toBe(false);
  expect(alike(floats(0), floats(0.00001))).toBe(true);
  expect(alike(floats(0), floats(0.01))).toBe(false);
  expect(alike(halves(1), halves(1.005))).toBe(true);
  expect(alike(halves(1), halves(1.1))).toBe(false);
});

test('NaN and infinities are alike only to themselves', () => {
  const { NaN: nan, POSITIVE_INFINITY: endless } = Number;
  expect(alike(floats(nan, endless), floats(nan, endless))).toBe(true);
  expect(alike(floats(nan), floats(1))).toBe(false);
  expect(alike(floats(endless), floats(-endless))).toBe(false);
  expect(alike(floats(endless), floats(1e38))).toBe(false);
});

test('an unaligned view is compared correctly', () => {
  const whole = new Uint8Array(9);
  whole.set(floats(1, 2).data, 1);
  expect(alike(floats(1, 2), { ...floats(1, 2), data: whole.subarray(1) })).toBe(true);
  whole[8] = 0x41;
  expect(alike(floats(1, 2), { ...floats(1, 2), data: whole.subarray(1) })).toBe(false);
});

test('names, datatypes, shapes and whole numbers must be the same', () => {
  const whole = (value: number): Tensor => ({ name: 'y', datatype: 'INT8', shape: [1], data: Uint8Array.of(value) });
  expect(alike(whole(1), whole(1))).toBe(true);
  expect(alike(whole(1), whole(2))).toBe(false);
  expect(alike(floats(1), { ...floats(1), name: 'z' })).toBe(false);
  expect(alike(floats(1), { ...floats(1), shape: [1, 1] })).toBe(false);
  expect(alike(floats(1), { ...floats(1), datatype: 'INT32' })).toBe(false);
  expect(areOutputsAlike([floats(1)], [])).toBe(false);
});
