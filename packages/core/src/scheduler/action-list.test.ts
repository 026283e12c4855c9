import { expect, test } from 'vitest';
import { ActionList } from './action-list.ts';

test('what is taken stays intact while more is added, until the next call', () => {
  const list = new ActionList();
  list.add({ kind: 'wake-at', at: 1 });
  const first = list.take();
  list.add({ kind: 'wake-at', at: 2 });
  expect(first).toEqual([{ kind: 'wake-at', at: 1 }]);
  const second = list.take();
  expect(second).toEqual([{ kind: 'wake-at', at: 2 }]);
  expect(first).toEqual([]);
  expect(list.take()).toEqual([]);
});

test('two arrays take turns', () => {
  const list = new ActionList();
  const first = list.take();
  const second = list.take();
  expect(list.take()).toBe(first);
  expect(list.take()).toBe(second);
});
