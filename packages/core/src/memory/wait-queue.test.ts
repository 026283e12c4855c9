import { expect, test } from 'vitest';
import { type QueueEntry, WaitQueue } from './wait-queue.ts';

class Named implements QueueEntry<Named> {
  readonly name: string;
  before: Named | undefined = undefined;
  after: Named | undefined = undefined;

  constructor(name: string) {
    this.name = name;
  }
}

function namesIn(queue: WaitQueue<Named>): string {
  let names = '';
  for (let entry = queue.first; entry !== undefined; entry = entry.after) names += entry.name;
  return names;
}

test('entries stand in the order in which they came, also when one leaves from the front, the middle or the end', () => {
  const queue = new WaitQueue<Named>();
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => new Named(name)) as [Named, Named, Named, Named];
  for (const entry of [a, b, c, d]) queue.add(entry);
  expect(namesIn(queue)).toBe('abcd');
  queue.remove(b);
  expect(namesIn(queue)).toBe('acd');
  queue.remove(d);
  expect(namesIn(queue)).toBe('ac');
  queue.remove(a);
  expect(namesIn(queue)).toBe('c');
  queue.add(a);
  queue.add(b);
  expect(namesIn(queue)).toBe('cab');
  for (const entry of [c, a, b]) queue.remove(entry);
  expect(queue.first).toBeUndefined();
});
