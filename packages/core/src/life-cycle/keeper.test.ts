import { expect, test } from 'vitest';
import { defaultKeeperConfig } from './keeper-config.ts';
import { KeeperHarness } from './testing/keeper-harness.ts';

const { residencyMsMin, retry } = defaultKeeperConfig;
const firstPauseMs = retry.pauseMs / 2;

test('a wanted context is loaded, and then served', () => {
  const harness = new KeeperHarness();
  expect(harness.want('m:1', 1)).toEqual(['load 1']);
  expect(harness.loaded(1)).toEqual(['serve 1']);
});

test('a new revision is loaded beside the old, takes its traffic, and the old drains before it is unloaded', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  expect(harness.want('m:1', 2)).toEqual(['load 2']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'retire 1 replaced']);
  expect(harness.idle(1)).toEqual(['unload 1']);
  expect(harness.unloaded(1)).toEqual(['forget 1']);
});

test('a new revision that cannot be loaded leaves the old serving, and is retried after a pause', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  harness.want('m:1', 2);
  expect(harness.failed(2)).toEqual(['failed 2 old serves', 'unload 2']);
  expect(harness.unloaded(2)).toEqual([`wake-at ${1001 + firstPauseMs}`]);
  expect(harness.tickAt(1001 + firstPauseMs)).toEqual(['load 2']);
  expect(harness.keeper.takeRevision(1)?.state).toBe('ready');
  expect(harness.loaded(2)).toEqual(['serve 2', 'retire 1 replaced']);
});

test('a new revision that cannot be loaded does not say that the old serves if that was evicted meanwhile', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 20 });
  harness.bring('a', 1, 10);
  harness.want('a', 2);
  expect(harness.failed(2)).toContain('failed 2 old serves');
  harness.unloaded(2);
  harness.bring('b', 3, 10);
  harness.want('c', 4);
  expect(harness.demand('c', 1)).toEqual(['retire 1 evicted']);
  expect(harness.idle(1)).toEqual(['unload 1']);
  harness.unloaded(1);
  harness.loaded(4);
  harness.tell({ kind: 'budget', bytesMax: 100 });
  expect(harness.tickAt(harness.now + 1e6)).toContain('load 2');
  expect(harness.failed(2).filter((said) => said.startsWith('failed'))).toEqual([expect.stringContaining('again in')]);
});

test('a new revision that cannot be loaded is not retried where nobody wants that, until its files change', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  harness.want('m:1', 2, 10, false);
  expect(harness.failed(2)).toEqual(['failed 2 old serves', 'unload 2']);
  expect(harness.unloaded(2)).toEqual([]);
  expect(harness.tickAt(1e9)).toEqual([]);
  expect(harness.keeper.takeRevision(1)?.state).toBe('ready');
  expect(harness.want('m:1', 3)).toEqual(['forget 2', 'load 3']);
});

test('a first load that failed is retried after pauses that double, and at once when its files change', () => {
  const harness = new KeeperHarness();
  harness.want('m:1', 1);
  expect(harness.failed(1)).toEqual([`failed 1 again in ${firstPauseMs}`, 'unload 1']);
  expect(harness.unloaded(1)).toEqual([`wake-at ${1000 + firstPauseMs}`]);
  expect(harness.tickAt(1000 + firstPauseMs)).toEqual(['load 1']);
  expect(harness.failed(1)).toEqual([`failed 1 again in ${2 * firstPauseMs}`, 'unload 1']);
  harness.unloaded(1);
  expect(harness.want('m:1', 2)).toEqual(['forget 1', 'load 2']);
});

test('a first load that nobody wants retried stays failed', () => {
  const harness = new KeeperHarness();
  harness.want('m:1', 1, 10, false);
  expect(harness.failed(1)).toEqual(['failed 1 again in undefined', 'unload 1']);
  expect(harness.unloaded(1)).toEqual([]);
  expect(harness.tickAt(1e9)).toEqual([]);
});

test('a first load that must fail again is not retried until its files change', () => {
  const harness = new KeeperHarness();
  harness.want('m:1', 1);
  expect(harness.failed(1, true)).toEqual(['failed 1 again in undefined', 'unload 1']);
  expect(harness.unloaded(1)).toEqual([]);
  expect(harness.tickAt(1e9)).toEqual([]);
  expect(harness.want('m:1', 2)).toEqual(['forget 1', 'load 2']);
});

test('a load is cancelled when newer files arrive', () => {
  const harness = new KeeperHarness();
  harness.want('m:1', 1);
  expect(harness.want('m:1', 2)).toEqual(['unload 1', 'load 2']);
  expect(harness.loaded(1)).toEqual([]);
  expect(harness.unloaded(1)).toEqual(['forget 1']);
  expect(harness.loaded(2)).toEqual(['serve 2']);
});

test('a version is unloaded only when its replacement serves, and stays when that fails', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  harness.want('m:2', 2);
  expect(harness.tell({ kind: 'unwanted', context: 'm:1', after: ['m:2'] })).toEqual([]);
  harness.failed(2);
  expect(harness.keeper.takeRevision(1)?.state).toBe('ready');
  harness.unloaded(2);
  expect(harness.want('m:2', 3)).toContain('load 3');
  expect(harness.loaded(3)).toEqual(['serve 3', 'retire 1 unwanted']);
});

test('a version that is wanted again before its successor serves stays', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  harness.want('m:2', 2);
  harness.tell({ kind: 'unwanted', context: 'm:1', after: ['m:2'] });
  harness.tell({ kind: 'kept', context: 'm:1' });
  expect(harness.loaded(2)).toEqual(['serve 2']);
});

test('a context that is no longer wanted is unloaded at once when nothing replaces it', () => {
  const harness = new KeeperHarness();
  harness.bring('m:1', 1, 10);
  expect(harness.tell({ kind: 'unwanted', context: 'm:1', after: [] })).toEqual(['retire 1 unwanted']);
  expect(harness.demand('m:1', 7)).toEqual(['refuse 7 model-not-ready']);
});

test('no more than loadsMax loads are in progress, and each end lets another begin', () => {
  const harness = new KeeperHarness({ loadsMax: 2 });
  expect([1, 2, 3, 4].map((id) => harness.want(`m:${id}`, id))).toEqual([['load 1'], ['load 2'], [], []]);
  expect(harness.failed(1)).toEqual([`failed 1 again in ${firstPauseMs}`, 'unload 1', 'load 3']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'load 4']);
});

test('a context that does not fit the budget at the start is set aside until it is requested', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 25 });
  harness.bring('a', 1, 10);
  harness.bring('b', 2, 10);
  expect(harness.want('c', 3, 10)).toEqual(['set-aside 3']);
  expect(harness.demand('c', 1)).toEqual(['retire 1 evicted']);
  expect(harness.idle(1)).toEqual(['unload 1']);
  expect(harness.demand('c', 2)).toEqual([]);
  expect(harness.unloaded(1)).toEqual(['set-aside 1', 'load 3']);
  expect(harness.loaded(3)).toEqual(['serve 3', 'go-on 1', 'go-on 2']);
});

test('the least recently used is evicted first, busy and pinned ones stay', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 40 });
  for (const id of [1, 2, 3, 4]) harness.bring(`m:${id}`, id, 10);
  harness.want('m:5', 5, 10);
  harness.used.set(1, harness.now + 1);
  harness.busy.add(2);
  harness.tell({ kind: 'pinned', context: 'm:3', isPinned: true });
  expect(harness.demand('m:5', 1)).toEqual(['retire 4 evicted']);
});

test('a busy context is drained for others once it has been in memory for residencyMsMin', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.bring('a', 1, 10);
  const readyAt = harness.now - 1;
  harness.busy.add(1);
  harness.want('b', 2, 10);
  expect(harness.demand('b', 1)).toEqual([`wake-at ${readyAt + residencyMsMin}`]);
  expect(harness.tickAt(readyAt + residencyMsMin)).toEqual(['retire 1 evicted']);
});

test('a context that drains to make room is kept when it is requested before it is idle', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 20 });
  harness.bring('a', 1, 10);
  harness.bring('b', 2, 10);
  harness.want('c', 3, 10);
  expect(harness.demand('c', 1)).toEqual(['retire 1 evicted']);
  expect(harness.demand('a', 2)).toEqual(['serve 1', 'go-on 2', 'retire 2 evicted']);
  expect(harness.idle(1)).toEqual([]);
});

test('a context that settles while it drains takes the memory that its workers have then', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 30 });
  harness.bring('a', 1, 10);
  harness.bring('b', 2, 10);
  harness.want('c', 3, 15);
  expect(harness.demand('c', 1)).toEqual(['retire 1 evicted']);
  harness.tell({ kind: 'settled', revision: 1, residentBytes: 18 });
  harness.tell({ kind: 'unwanted', context: 'b', after: [] });
  harness.idle(2);
  expect(harness.unloaded(2)).not.toContain('load 3');
  harness.idle(1);
  expect(harness.unloaded(1)).toContain('load 3');
});

test('demand beyond demandWaitersMax is refused, and so is one whose deadline passes', () => {
  const harness = new KeeperHarness({ demandWaitersMax: 2 });
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.bring('a', 1, 10);
  harness.want('b', 2, 10);
  harness.demand('b', 1, 1500);
  harness.demand('b', 2);
  expect(harness.demand('b', 3)).toEqual(['refuse 3 model-full 1000']);
  expect(harness.tickAt(1500)).toContain('refuse 1 deadline-exceeded');
  expect(harness.tell({ kind: 'demand-cancelled', waiter: 2 })).toEqual([]);
  harness.idle(1);
  expect(harness.unloaded(1)).toEqual(['set-aside 1', 'load 2']);
  expect(harness.loaded(2)).toEqual(['serve 2']);
});

test('a context larger than the whole budget is refused once that is known, and never loaded again in vain', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 30 });
  harness.bring('a', 1, 10);
  expect(harness.want('b', 2, 10)).toEqual(['load 2']);
  expect(harness.loaded(2, 50)).toEqual(['serve 2', 'retire 2 evicted']);
  harness.idle(2);
  harness.unloaded(2);
  expect(harness.demand('b', 1)).toEqual(['refuse 1 model-not-ready', 'set-aside 2']);
  expect(harness.keeper.takeRevision(1)?.state).toBe('ready');
});

test('only one load of unknown size is in progress under a budget; those of known size go beside it', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 100 });
  harness.bring('a', 1, 10);
  harness.tell({ kind: 'budget', bytesMax: 5 });
  harness.idle(1);
  harness.unloaded(1);
  harness.tell({ kind: 'budget', bytesMax: 100 });
  expect(harness.want('b', 2, 10)).toEqual(['load 2']);
  expect(harness.want('c', 3, 10)).toEqual([]);
  expect(harness.demand('a', 1)).toEqual(['load 1']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'load 3']);
});

test('a replacement that fits only without the old one is still loaded beside it', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 15 });
  harness.bring('a', 1, 10);
  expect(harness.want('a', 2, 10)).toEqual(['load 2']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'retire 1 replaced']);
});

test('a context that grew over the budget is evicted when it is measured', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 30 });
  harness.bring('a', 1, 10);
  harness.bring('b', 2, 10);
  expect(harness.tell({ kind: 'measured', revision: 2, residentBytes: 25 })).toEqual(['retire 1 evicted']);
});

test('a pinned context is loaded, and never evicted', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.bring('a', 1, 10);
  harness.want('b', 2, 10);
  expect(harness.tell({ kind: 'pinned', context: 'b', isPinned: true })).toEqual(['retire 1 evicted']);
  harness.idle(1);
  expect(harness.unloaded(1)).toEqual(['set-aside 1', 'load 2']);
  harness.loaded(2);
  expect(harness.demand('a', 1)).toEqual(['refuse 1 model-not-ready', 'set-aside 1']);
});

test('a context that cannot be loaded again refuses its waiters, says when it is retried, and is retried', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.bring('a', 1, 10);
  harness.bring('b', 2, 10);
  expect(harness.demand('b', 1)).toEqual(['retire 1 evicted']);
  harness.idle(1);
  harness.unloaded(1);
  expect(harness.failed(2)).toEqual([
    `failed 2 again in ${firstPauseMs}`,
    'unload 2',
    `refuse 1 model-not-ready ${firstPauseMs}`,
  ]);
  expect(harness.demand('b', 2)).toEqual([`refuse 2 model-not-ready ${firstPauseMs}`]);
});

test('a context is known until it is dropped, even while it is still being unloaded', () => {
  const harness = new KeeperHarness();
  harness.want('a', 1);
  expect(harness.keeper.isKnown('a')).toBe(true);
  expect(harness.tell({ kind: 'unwanted', context: 'a', after: [] })).toEqual(['unload 1']);
  expect(harness.keeper.isKnown('a')).toBe(false);
  expect(harness.tell({ kind: 'kept', context: 'a' })).toEqual([]);
  expect(harness.unloaded(1)).toEqual(['forget 1']);
});

test('a load that failed is no measurement: the next attempt needs as much room as the first', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 100 });
  harness.want('m:1', 1, 60);
  harness.demand('m:1', 1);
  harness.failed(1);
  harness.settled(1, 0);
  expect(harness.keeper.takeRevision(1)?.bytes).toBe(60);
});
