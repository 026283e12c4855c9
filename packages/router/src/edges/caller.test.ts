import { expect, test } from 'vitest';
import { callerFrom, callerLengthMax } from './caller.ts';

const peer = { address: '10.0.0.9', port: 5, isEncrypted: false };
const sent = (value: string | undefined) => ({
  get: (name: string) => (name === 'millrace-caller' ? value : undefined),
});

test('a caller is known by its address, whatever it says of itself', () => {
  expect(callerFrom(sent('someone-else'), peer, '')).toBe('10.0.0.9');
});

test('where the operator trusts a header field, it names the caller', () => {
  expect(callerFrom(sent('team-a'), peer, 'millrace-caller')).toBe('team-a');
  expect(callerFrom(sent('team-a'), peer, 'x-other')).toBe('10.0.0.9');
});

test('a request without the field, or with an empty one, is of its address', () => {
  expect(callerFrom(sent(undefined), peer, 'millrace-caller')).toBe('10.0.0.9');
  expect(callerFrom(sent(''), peer, 'millrace-caller')).toBe('10.0.0.9');
});

test('a name is cut at its maximum', () => {
  const name = 'x'.repeat(callerLengthMax + 1);
  expect(callerFrom(sent(name), peer, 'millrace-caller')).toBe(name.slice(1));
});
