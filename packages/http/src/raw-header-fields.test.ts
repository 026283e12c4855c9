import { expect, test } from 'vitest';
import { noHeaderFields, RawHeaderFields } from './raw-header-fields.ts';

test('a field is found by its lower-case name whatever case it was sent in', () => {
  const fields = new RawHeaderFields(['Content-Type', 'text/plain', 'X-One', '1']);
  expect(fields.get('content-type')).toBe('text/plain');
  expect(fields.has('x-one')).toBe(true);
  expect(fields.has('x-two')).toBe(false);
  expect(fields.get('x-two')).toBeUndefined();
});

test('a repeated field keeps its order, and the first value is the one that get returns', () => {
  const fields = new RawHeaderFields(['A', '1', 'B', '2', 'a', '3']);
  expect(fields.get('a')).toBe('1');
  expect(fields.getAll('a')).toEqual(['1', '3']);
  expect(fields.getAll('c')).toEqual([]);
  expect([...fields.entries()]).toEqual([
    ['a', '1'],
    ['b', '2'],
    ['a', '3'],
  ]);
});

test('a value that equals a name is not taken for one', () => {
  const fields = new RawHeaderFields(['x', 'y', 'y', 'z']);
  expect(fields.get('y')).toBe('z');
  expect([...noHeaderFields.entries()]).toEqual([]);
});
