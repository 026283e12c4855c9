import { expect, test } from 'vitest';
import { type ErrorCode, errorCatalogue, takeErrorCode } from './errors.ts';

/**
 * Every number that was ever given to a code. Lines are only added: a worker in another language knows errors by these
 * numbers, so a number keeps its meaning, and that of a code which is no longer in the catalogue is not used again.
 */
const numbersGiven: Readonly<Record<number, string>> = {
  1: 'invalid-request',
  2: 'request-too-large',
  3: 'unsupported-media',
  4: 'not-found',
  5: 'method-not-allowed',
  6: 'forbidden',
  7: 'unknown-model',
  8: 'model-not-ready',
  9: 'model-full',
  10: 'server-full',
  11: 'wait-too-long',
  12: 'queue-timeout',
  13: 'caller-full',
  14: 'load-not-allowed',
  15: 'conflict',
  16: 'draining',
  17: 'cancelled',
  18: 'deadline-exceeded',
  19: 'worker-lost',
  20: 'poison-request',
  21: 'run-time-limit',
  22: 'inference-failed',
  23: 'unsupported',
  24: 'internal',
  25: 'stream-not-found',
  26: 'stream-conflict',
  27: 'stream-superseded',
  28: 'stream-expired',
  29: 'sequence-gap',
  30: 'input-after-end',
  31: 'output-expired',
  32: 'journal-full',
  33: 'journal-unavailable',
  34: 'model-changed',
  35: 'model-unloaded',
  36: 'replay-diverged',
  37: 'too-many-streams',
  38: 'late-input',
  39: 'poison-stream',
};

const codes = Object.keys(errorCatalogue) as ErrorCode[];

test('every code has the number it was given', () => {
  for (const code of codes) expect(numbersGiven[errorCatalogue[code].number], code).toBe(code);
});

test('no two codes share a number, and none has 0, which stands for no error', () => {
  const numbers = codes.map((code) => errorCatalogue[code].number);
  expect(new Set(numbers).size).toBe(codes.length);
  for (const number of numbers) expect(Number.isInteger(number) && number >= 1 && number < 2 ** 32).toBe(true);
});

test('a code is found by its number, and nothing by a number that no code has', () => {
  for (const code of codes) expect(takeErrorCode(errorCatalogue[code].number)).toBe(code);
  expect(takeErrorCode(0)).toBeUndefined();
  expect(takeErrorCode(2 ** 32 - 1)).toBeUndefined();
});
