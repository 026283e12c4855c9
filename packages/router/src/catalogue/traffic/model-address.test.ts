import { expect, test } from 'vitest';
import { addressFrom, isPlainName, labelLengthMax, labelProblem } from './model-address.ts';

const invalid = (message: string) =>
  expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining(message) });

test('a name alone, with a version and with a label', () => {
  expect(addressFrom('mill', '')).toEqual({ model: 'mill', version: '', label: '' });
  expect(addressFrom('mill', '3')).toEqual({ model: 'mill', version: '3', label: '' });
  expect(addressFrom('mill:3', '')).toEqual({ model: 'mill', version: '3', label: '' });
  expect(addressFrom('mill:3', '3')).toEqual({ model: 'mill', version: '3', label: '' });
  expect(addressFrom('mill@stable', '')).toEqual({ model: 'mill', version: '', label: 'stable' });
  expect(addressFrom('mill@stable', '3')).toEqual({ model: 'mill', version: '3', label: 'stable' });
  expect(['mill', 'mill:1', 'mill@a'].map(isPlainName)).toEqual([true, false, false]);
});

test.each([
  ['mill:3', '4', "two versions of 'mill': 3 in its name and 4 beside it"],
  ['mill:3@stable', '', 'both a version and a label'],
  ['mill@stable:3', '', 'both a version and a label'],
  ['mill:', '', "no version after the colon; write for instance 'mill:1'"],
  ['mill:latest', '', 'no version after the colon'],
  ['mill@', '', "the label ''"],
  ['mill@3', '', 'is a number, which names a version'],
  ['mill@a b', '', 'letters, digits'],
])('%s with version %j is refused', (name, version, message) => {
  expect(() => addressFrom(name, version)).toThrow(invalid(message));
});

test('labels are short names that cannot be taken for versions', () => {
  for (const label of ['stable', 'v2', '1.0', 'a_b-c.d', 'x'.repeat(labelLengthMax)]) {
    expect(labelProblem(label), label).toBeUndefined();
  }
  for (const label of ['', '12', 'ä', 'a/b', 'a@b', 'a b', 'x'.repeat(labelLengthMax + 1)]) {
    expect(labelProblem(label), label).toBeDefined();
  }
});
