import { expect, test } from 'vitest';
import { StreamTable } from './stream-table.ts';

/** How many streams each caller gets, one after the other, when it takes as many as it can. */
function taken(table: StreamTable, callers: readonly string[]): readonly number[] {
  return callers.map((caller) => {
    for (let count = 0; ; count += 1) {
      try {
        table.claimRoom(caller);
      } catch (error) {
        expect(error).toMatchObject({ code: 'too-many-streams' });
        return count;
      }
    }
  });
}

test('every further caller gets the same fraction of what others leave', () => {
  const table = new StreamTable({ openMax: 200, openPerCallerMax: 120 });
  expect(taken(table, ['a', 'b', 'c', 'd', 'e', 'f', 'a'])).toEqual([120, 48, 20, 8, 3, 1, 0]);
  table.giveRoom('b');
  // What was left goes to those who have less than their share.
  expect(taken(table, ['a', 'g'])).toEqual([0, 1]);
});

test('a caller who may have all gets what others leave', () => {
  const table = new StreamTable({ openMax: 10, openPerCallerMax: 10 });
  expect(taken(table, ['a'])).toEqual([10]);
  table.giveRoom('a');
  expect(taken(table, ['b', 'a'])).toEqual([1, 0]);
});

test('a limit of callers above that of the server leaves others their room', () => {
  const table = new StreamTable({ openMax: 64, openPerCallerMax: 12_000 });
  expect(taken(table, ['a', 'b', 'c'])).toEqual([39, 15, 6]);
});

test('the refusal names the share and the setting', () => {
  const table = new StreamTable({ openMax: 10, openPerCallerMax: 5 });
  taken(table, ['a', 'b']);
  expect(() => table.claimRoom('b')).toThrow(
    'this caller has 3 open streams of at most 3, its share of what others leave (streams.openPerCallerMax); end some first',
  );
});
