import { expect, test } from 'vitest';
import { defaultKeeperConfig } from './keeper-config.ts';
import { KeeperHarness } from './testing/keeper-harness.ts';

const { headStartMs } = defaultKeeperConfig;
const headStartEnd = 1000 + headStartMs;

/** Three contexts are found at the start, and streams of an earlier process are open on the last two. */
function started(harness: KeeperHarness): readonly string[] {
  return harness.wantAll([
    harness.wanted('plain:1', 1),
    harness.wanted('streamed:1', 2, 10, true, ['streamed:1'], true),
    harness.wanted('streamed:2', 3, 10, true, ['streamed:2'], true),
  ]);
}

test('contexts of open streams are loaded first, and the others when these have ended their loads', () => {
  const harness = new KeeperHarness();
  expect(started(harness)).toEqual(['load 2', 'load 3', `wake-at ${headStartEnd}`]);
  expect(harness.loaded(3)).toEqual(['serve 3']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'load 1']);
});

test('a load for an open stream that fails holds nothing back', () => {
  const harness = new KeeperHarness();
  started(harness);
  harness.loaded(3);
  expect(harness.failed(2)).toContain('load 1');
});

test('a long load for an open stream holds others back for a limited time', () => {
  const harness = new KeeperHarness();
  started(harness);
  expect(harness.tickAt(headStartEnd - 1)).toEqual([`wake-at ${headStartEnd}`]);
  expect(harness.tickAt(headStartEnd)).toEqual(['load 1']);
});

test('a context that a request waits for, or that is pinned, is not held back', () => {
  const harness = new KeeperHarness();
  started(harness);
  harness.want('pinned:1', 4);
  expect(harness.demand('plain:1', 7)).toEqual(['load 1']);
  expect(harness.tell({ kind: 'pinned', context: 'pinned:1', isPinned: true })).toEqual(['load 4']);
});

test('among more contexts than load at once those of open streams are first, whatever their order', () => {
  const harness = new KeeperHarness({ loadsMax: 1, headStartMs: 0 });
  expect(started(harness)).toEqual(['load 2']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'load 3']);
  expect(harness.loaded(3)).toEqual(['serve 3', 'load 1']);
});

test('what a stream waited for at the start has no advantage in a later revision', () => {
  const harness = new KeeperHarness();
  started(harness);
  harness.loaded(2);
  harness.loaded(3);
  harness.loaded(1);
  harness.wantAll([harness.wanted('plain:1', 4), harness.wanted('streamed:1', 5)]);
  expect(harness.keeper.takeRevision(4)?.state).toBe('loading');
  expect(harness.keeper.takeRevision(5)?.state).toBe('loading');
});
