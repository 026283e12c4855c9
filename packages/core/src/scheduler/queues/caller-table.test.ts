import { expect, test } from 'vitest';
import { CallerQueue } from './caller-ring.ts';
import { CallerTable } from './caller-table.ts';

test('a thousand callers are found by name until they leave, whatever bucket they share', () => {
  const table = new CallerTable();
  const queues = Array.from({ length: 1000 }, (_, index) => {
    const queue = new CallerQueue();
    queue.caller = `tenant-${index}`;
    return queue;
  });
  for (const queue of queues) table.add(queue);
  for (const queue of queues) expect(table.take(queue.caller)).toBe(queue);
  for (const [index, queue] of queues.entries()) if (index % 3 !== 0) table.remove(queue);
  for (const [index, queue] of queues.entries()) {
    expect(table.take(queue.caller)).toBe(index % 3 === 0 ? queue : undefined);
  }
  expect(table.count).toBe(334);
  expect(table.take('nobody')).toBeUndefined();
});
