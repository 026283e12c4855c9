import { expect, test } from 'vitest';
import { ArrivingBodies } from './arriving-bodies.ts';

function arrivingBodies() {
  const due: (() => void)[] = [];
  const bodies = new ArrivingBodies((_ms, callback) => due.push(callback));
  return { bodies, due, sweep: () => due.shift()?.() };
}

test('a body is moved away after one to two sweeps, once, and there is no timer without bodies', () => {
  const { bodies, due, sweep } = arrivingBodies();
  const moved: string[] = [];
  bodies.add(() => moved.push('first'));
  bodies.add(() => moved.push('second'));
  expect(due).toHaveLength(1);
  sweep();
  expect(moved).toEqual([]);
  bodies.add(() => moved.push('third'));
  sweep();
  expect(moved).toEqual(['first', 'second']);
  sweep();
  expect(moved).toEqual(['first', 'second', 'third']);
  expect(due).toHaveLength(0);
});

test('a body that has arrived is left alone', () => {
  const { bodies, due, sweep } = arrivingBodies();
  const never = (): number => {
    throw new Error('it was moved');
  };
  const late = (): number => never();
  bodies.add(never);
  bodies.remove(never);
  bodies.add(late);
  sweep();
  bodies.remove(late);
  sweep();
  sweep();
  expect(due).toHaveLength(0);
});

test('many late bodies are moved in several turns, and those that arrive meanwhile stay', () => {
  const { bodies, due, sweep } = arrivingBodies();
  const moved: number[] = [];
  const moves = Array.from({ length: 5 }, (_, index) => () => {
    moved.push(index);
    return 3 * 1024 * 1024;
  });
  for (const moveAway of moves) bodies.add(moveAway);
  sweep();
  sweep();
  expect(moved).toEqual([0, 1]);
  bodies.remove(moves[2] as () => number);
  sweep();
  expect(moved).toEqual([0, 1, 3, 4]);
  expect(due).toHaveLength(0);
});
