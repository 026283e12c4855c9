import { expect, test } from 'vitest';
import { nearestName } from './nearest-name.ts';

const known = ['http-port', 'metrics-port', 'host', 'log-level', 'log-format', 'max_batch_size', 'input', 'dims', 'x'];

test.each([
  ['http-prot', 'http-port'],
  ['httpport', 'http-port'],
  ['HTTP_PORT', 'http-port'],
  ['hsot', 'host'],
  ['loglevle', 'log-level'],
  ['metric-port', 'metrics-port'],
  ['log-formatt', 'log-format'],
  ['max_batchsize', 'max_batch_size'],
  ['MAX-BATCH-SIZE', 'max_batch_size'],
  ['inputs', 'input'],
  ['dmis', 'dims'],
  ['xx', 'x'],
])('%s was meant to be %s', (written, meant) => {
  expect(nearestName(written, known)).toBe(meant);
});

test.each(['ho', 'completely-else', 'port', 'zebra', 'x'.repeat(100_000)])('nothing is near to %.20s', (written) => {
  expect(nearestName(written, known)).toBeUndefined();
});

test('four wrong letters are too many, however long the name is', () => {
  const long = 'gather_kernel_buffer_threshold';
  expect(nearestName('gather_kernel_bufer_treshhold', [long])).toBe(long);
  expect(nearestName('gather_kernel_size_threshold', [long])).toBeUndefined();
});
