import { expect, test } from 'vitest';
import { CopyTurns, copiedBytesPerTurn } from './copy-turns.ts';

test('all who copy in a turn share its bytes, and the next turn has as many again', () => {
  const atEnd: (() => void)[] = [];
  const turns = new CopyTurns((next) => atEnd.push(next));
  expect([turns.take(1000), turns.take(copiedBytesPerTurn), turns.take(1)]).toEqual([
    1000,
    copiedBytesPerTurn - 1000,
    0,
  ]);
  expect(atEnd).toHaveLength(1);
  atEnd[0]?.();
  expect(turns.take(2 * copiedBytesPerTurn)).toBe(copiedBytesPerTurn);
  expect(atEnd).toHaveLength(2);
});
