import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InflightGate } from './inflight-gate.ts';

const limits = { inflightMax: 2, waitingMax: 2, waitingBytesMax: 100 };

test('refuses one more than may wait, by number and by bytes', () => {
  const gate = new InflightGate<string>(limits);
  expect(['a', 'b', 'c'].map((name) => gate.enter(name, 60))).toEqual(['now', 'now', 'waits']);
  expect(gate.enter('heavy', 41)).toBe('full');
  expect(gate.enter('d', 40)).toBe('waits');
  expect(gate.enter('light', 0)).toBe('full');
  expect(gate.leave()).toBe('c');
  expect(gate.enter('light', 60)).toBe('waits');
});

test('a request that stops waiting frees its place and its bytes', () => {
  const gate = new InflightGate<string>(limits);
  for (const name of ['a', 'b', 'c']) gate.enter(name, 100);
  expect(gate.giveUp('a')).toBe(false);
  expect(gate.giveUp('c')).toBe(true);
  expect(gate.giveUp('c')).toBe(false);
  expect(gate.enter('d', 100)).toBe('waits');
  expect([gate.leave(), gate.leave(), gate.leave()]).toEqual(['d', undefined, undefined]);
  expect(gate.inflightCount).toBe(0);
});

test('never runs more than its limit, and nobody waits while there is room', () => {
  const moves = fc.array(fc.constantFrom('enter', 'leave', 'giveUp'), { maxLength: 60 });
  fc.assert(
    fc.property(moves, fc.integer({ min: 1, max: 4 }), (actions, inflightMax) => {
      const gate = new InflightGate<number>({ inflightMax, waitingMax: 5, waitingBytesMax: 1000 });
      const waiting: number[] = [];
      let inside = 0;
      for (const [index, action] of actions.entries()) {
        if (action === 'enter') {
          const verdict = gate.enter(index, 1);
          if (verdict === 'now') inside += 1;
          if (verdict === 'waits') waiting.push(index);
        } else if (action === 'leave' && inside > 0) {
          const next = gate.leave();
          expect(next).toBe(waiting.shift());
          if (next === undefined) inside -= 1;
        } else if (action === 'giveUp' && waiting.length > 0) {
          expect(gate.giveUp(waiting.pop() as number)).toBe(true);
        }
        expect(gate.inflightCount).toBe(inside);
        expect(inside).toBeLessThanOrEqual(inflightMax);
        expect(waiting.length > 0 && inside < inflightMax).toBe(false);
      }
    }),
    { seed: 10, numRuns: 200 },
  );
});
