import { expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { ModelWaits } from './model-waits.ts';

const turn = (): Promise<void> => Promise.resolve();

function setUp() {
  const served = new Set<string>();
  const listeners = new Set<() => void>();
  const waits = new ModelWaits({
    takeServed: (name) => (served.has(name) ? servedModel([], [], { name }) : undefined),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  const show = (name: string, state: 'loading' | 'ready'): void => {
    if (state === 'ready') served.add(name);
    for (const listener of listeners) listener();
  };
  return { waits, show, watching: () => listeners.size };
}

test('who waits for a version is called once, when that version takes requests', async () => {
  const { waits, show, watching } = setUp();
  const called: string[] = [];
  for (const name of ['a', 'a', 'b']) waits.add(name, '1', () => called.push(name));
  expect(watching()).toBe(1);
  show('a', 'loading');
  await turn();
  expect(called).toEqual([]);
  show('a', 'ready');
  // Not while the models are being changed.
  expect(called).toEqual([]);
  await turn();
  expect(called).toEqual(['a', 'a']);
  show('b', 'ready');
  show('a', 'ready');
  await turn();
  expect(called).toEqual(['a', 'a', 'b']);
  expect(watching()).toBe(0);
});

test('who has left is not called, and the models are watched no longer than somebody waits', async () => {
  const { waits, show, watching } = setUp();
  const called: string[] = [];
  const leave = waits.add('a', '1', () => called.push('left'));
  waits.add('a', '1', () => called.push('stayed'));
  leave();
  show('a', 'ready');
  await turn();
  expect(called).toEqual(['stayed']);
  waits.add('a', '1', () => {})();
  expect(watching()).toBe(0);
});

test('who waits again when called waits for the next change', async () => {
  const { waits, show } = setUp();
  let calls = 0;
  const wait = (): void => {
    calls += 1;
    waits.add('a', '1', wait);
  };
  waits.add('a', '1', wait);
  show('a', 'ready');
  await turn();
  expect(calls).toBe(1);
  show('a', 'ready');
  await turn();
  expect(calls).toBe(2);
});
