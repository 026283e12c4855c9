import { expect, test } from 'vitest';
import { ClosedStreams } from './closed-streams.ts';

test('the way each stream ended is remembered', () => {
  const closed = new ClosedStreams();
  closed.addGap(3, 7);
  closed.addReset(9, false);
  closed.addReset(11, true);
  expect([1, 3, 5, 7, 9, 11, 13].map((id) => closed.endingOf(id))).toEqual([
    'completed',
    'never-used',
    'never-used',
    'never-used',
    'reset-here',
    'reset-by-peer',
    'completed',
  ]);
});

test('memory is bounded: forgotten streams count as reset by this side, whose late frames are ignored', () => {
  const closed = new ClosedStreams();
  for (let id = 1; id < 2000; id += 2) closed.addReset(id, false);
  expect(closed.endingOf(1)).toBe('reset-here');
  expect(closed.endingOf(2001)).toBe('completed');
  for (let id = 3001; id < 5000; id += 4) closed.addGap(id, id);
  expect(closed.endingOf(4997)).toBe('never-used');
  expect(closed.endingOf(3001)).toBe('completed');
});
