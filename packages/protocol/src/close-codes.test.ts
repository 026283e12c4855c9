import { expect, test } from 'vitest';
import { closeCodeOf } from './close-codes.ts';
import { type ErrorCode, errorCatalogue } from './errors.ts';

const codes = Object.keys(errorCatalogue) as ErrorCode[];

test('every error has a close code that a server may send, and no two have the same', () => {
  const closeCodes = codes.map(closeCodeOf);
  const sendable = new Set([1000, 1001, 1008, 1009, 1011, 1013]);
  for (const code of closeCodes) expect(sendable.has(code) || (code > 4000 && code <= 4999), `${code}`).toBe(true);
  expect(new Set(closeCodes).size).toBe(codes.length);
});

test('errors are closed with the code of the protocol that says the same, or with their own number', () => {
  expect(closeCodeOf('draining')).toBe(1001);
  expect(closeCodeOf('request-too-large')).toBe(1009);
  expect(closeCodeOf('internal')).toBe(1011);
  expect(closeCodeOf('unknown-model')).toBe(4007);
});
