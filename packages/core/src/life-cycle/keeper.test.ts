import { expect, test } from 'vitest';
import { Keeper } from './keeper.ts';
import { defaultKeeperConfig, type KeeperConfig } from './keeper-config.ts';
import type { KeeperAction, KeeperEvent } from './keeper-events.ts';

/** A keeper, the time, and who is used how. */
class Stage {
  now = 1000;
  readonly used = new Map<number, number>();
  readonly busy = new Set<number>();
  readonly keeper: Keeper;

  constructor(config: Partial<KeeperConfig> = {}) {
    const use = { usedAt: (id: number) => this.used.get(id), isInUse: (id: number) => this.busy.has(id) };
    this.keeper = new Keeper(use, config);
  }

  /** What it has done about the event, in short. */
  tell(event: KeeperEvent): readonly string[] {
    this.keeper.handle(event, this.now);
    return this.keeper.takeActions().map(textOf);
  }

  want(context: string, revision: number, bytesExpected = 10, isRetried = true): readonly string[] {
    return this.tell({ kind: 'wanted', context, revision, bytesExpected, isRetried });
  }

  loaded(revision: number, residentBytes = 10): readonly string[] {
    return this.tell({ kind: 'loaded', revision, residentBytes });
  }

  failed(revision: number, isFinal = false): readonly string[] {
    return this.tell({ kind: 'load-failed', revision, reason: 'no such operator', jitter: 0, isFinal });
  }

  demand(context: string, waiter: number, deadlineAt = Number.POSITIVE_INFINITY): readonly string[] {
    return this.tell({ kind: 'demanded', context, waiter, deadlineAt });
  }

  idle(revision: number): readonly string[] {
    return this.tell({ kind: 'idle', revision });
  }

  unloaded(revision: number): readonly string[] {
    return this.tell({ kind: 'unloaded', revision });
  }

  tickAt(now: number): readonly string[] {
    this.now = now;
    return this.tell({ kind: 'tick' });
  }

  /** Wants, loads and uses a context of this size. */
  bring(context: string, revision: number, bytes: number): void {
    this.want(context, revision, bytes);
    this.loaded(revision, bytes);
    this.now += 1;
    this.used.set(revision, this.now);
  }
}

function textOf(action: KeeperAction): string {
  switch (action.kind) {
    case 'go-on':
      return `go-on ${action.waiter}`;
    case 'refuse':
      return `refuse ${action.waiter} ${action.code}${action.retryAfterMs === undefined ? '' : ` ${action.retryAfterMs}`}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'retire':
      return `retire ${action.revision} ${action.why}`;
    case 'failed':
      return `failed ${action.revision} ${action.isOldServing ? 'old serves' : `again in ${action.retryInMs}`}`;
    default:
      return `${action.kind} ${action.revision}`;
  }
}

const { residencyMsMin, retry } = defaultKeeperConfig;
const firstPauseMs = retry.pauseMs / 2;

test('what is wanted is loaded, and served when it is', () => {
  const stage = new Stage();
  expect(stage.want('m:1', 1)).toEqual(['load 1']);
  expect(stage.loaded(1)).toEqual(['serve 1']);
});

test('a new revision is loaded beside the old, takes its traffic, and the old drains before it goes', () => {
  const stage = new Stage();
  stage.bring('m:1', 1, 10);
  expect(stage.want('m:1', 2)).toEqual(['load 2']);
  expect(stage.loaded(2)).toEqual(['serve 2', 'retire 1 replaced']);
  expect(stage.idle(1)).toEqual(['unload 1']);
  expect(stage.unloaded(1)).toEqual(['forget 1']);
});

test('a new revision that cannot be loaded leaves the old serving, and is not tried again by itself', () => {
  const stage = new Stage();
  stage.bring('m:1', 1, 10);
  stage.want('m:1', 2);
  expect(stage.failed(2)).toEqual(['failed 2 old serves', 'unload 2']);
  expect(stage.unloaded(2)).toEqual([]);
  expect(stage.tickAt(1e9)).toEqual([]);
  expect(stage.keeper.takeRevision(1)?.state).toBe('ready');
  expect(stage.want('m:1', 3)).toEqual(['forget 2', 'load 3']);
});

test('a first load that failed is tried again after pauses that double, and at once when its files change', () => {
  const stage = new Stage();
  stage.want('m:1', 1);
  expect(stage.failed(1)).toEqual([`failed 1 again in ${firstPauseMs}`, 'unload 1']);
  expect(stage.unloaded(1)).toEqual([`wake-at ${1000 + firstPauseMs}`]);
  expect(stage.tickAt(1000 + firstPauseMs)).toEqual(['load 1']);
  expect(stage.failed(1)).toEqual([`failed 1 again in ${2 * firstPauseMs}`, 'unload 1']);
  stage.unloaded(1);
  expect(stage.want('m:1', 2)).toEqual(['forget 1', 'load 2']);
});

test('a first load that nobody wants retried stays failed', () => {
  const stage = new Stage();
  stage.want('m:1', 1, 10, false);
  expect(stage.failed(1)).toEqual(['failed 1 again in undefined', 'unload 1']);
  expect(stage.unloaded(1)).toEqual([]);
  expect(stage.tickAt(1e9)).toEqual([]);
});

test('a first load that must fail again is not tried again until its files change', () => {
  const stage = new Stage();
  stage.want('m:1', 1);
  expect(stage.failed(1, true)).toEqual(['failed 1 again in undefined', 'unload 1']);
  expect(stage.unloaded(1)).toEqual([]);
  expect(stage.tickAt(1e9)).toEqual([]);
  expect(stage.want('m:1', 2)).toEqual(['forget 1', 'load 2']);
});

test('a load that is overtaken by newer files is called off', () => {
  const stage = new Stage();
  stage.want('m:1', 1);
  expect(stage.want('m:1', 2)).toEqual(['unload 1', 'load 2']);
  expect(stage.loaded(1)).toEqual([]);
  expect(stage.unloaded(1)).toEqual(['forget 1']);
  expect(stage.loaded(2)).toEqual(['serve 2']);
});

test('a version goes only when what takes its place serves, and stays when that fails', () => {
  const stage = new Stage();
  stage.bring('m:1', 1, 10);
  stage.want('m:2', 2);
  expect(stage.tell({ kind: 'unwanted', context: 'm:1', after: ['m:2'] })).toEqual([]);
  stage.failed(2);
  expect(stage.keeper.takeRevision(1)?.state).toBe('ready');
  stage.unloaded(2);
  expect(stage.want('m:2', 3)).toContain('load 3');
  expect(stage.loaded(3)).toEqual(['serve 3', 'retire 1 unwanted']);
});

test('a version that is wanted again before its successor serves stays', () => {
  const stage = new Stage();
  stage.bring('m:1', 1, 10);
  stage.want('m:2', 2);
  stage.tell({ kind: 'unwanted', context: 'm:1', after: ['m:2'] });
  stage.tell({ kind: 'kept', context: 'm:1' });
  expect(stage.loaded(2)).toEqual(['serve 2']);
});

test('what is wanted no more goes at once when nothing takes its place', () => {
  const stage = new Stage();
  stage.bring('m:1', 1, 10);
  expect(stage.tell({ kind: 'unwanted', context: 'm:1', after: [] })).toEqual(['retire 1 unwanted']);
  expect(stage.demand('m:1', 7)).toEqual(['refuse 7 model-not-ready']);
});

test('no more than loadsMax loads are in progress, and each end lets another begin', () => {
  const stage = new Stage({ loadsMax: 2 });
  expect([1, 2, 3, 4].map((id) => stage.want(`m:${id}`, id))).toEqual([['load 1'], ['load 2'], [], []]);
  expect(stage.failed(1)).toEqual([`failed 1 again in ${firstPauseMs}`, 'unload 1', 'load 3']);
  expect(stage.loaded(2)).toEqual(['serve 2', 'load 4']);
});

test('what finds no room in the budget at the start waits outside until it is asked for', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 25 });
  stage.bring('a', 1, 10);
  stage.bring('b', 2, 10);
  expect(stage.want('c', 3, 10)).toEqual(['set-aside 3']);
  expect(stage.demand('c', 1)).toEqual(['retire 1 evicted']);
  expect(stage.idle(1)).toEqual(['unload 1']);
  expect(stage.demand('c', 2)).toEqual([]);
  expect(stage.unloaded(1)).toEqual(['set-aside 1', 'load 3']);
  expect(stage.loaded(3)).toEqual(['serve 3', 'go-on 1', 'go-on 2']);
});

test('the least recently used goes first, the busy and the pinned stay', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 40 });
  for (const id of [1, 2, 3, 4]) stage.bring(`m:${id}`, id, 10);
  stage.want('m:5', 5, 10);
  stage.used.set(1, stage.now + 1);
  stage.busy.add(2);
  stage.tell({ kind: 'pinned', context: 'm:3', isPinned: true });
  expect(stage.demand('m:5', 1)).toEqual(['retire 4 evicted']);
});

test('a busy context is drained for others, once it has been in memory for its time', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 10 });
  stage.bring('a', 1, 10);
  const readyAt = stage.now - 1;
  stage.busy.add(1);
  stage.want('b', 2, 10);
  expect(stage.demand('b', 1)).toEqual([`wake-at ${readyAt + residencyMsMin}`]);
  expect(stage.tickAt(readyAt + residencyMsMin)).toEqual(['retire 1 evicted']);
});

test('one that drains to make room is taken back when it is asked for before it is idle', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 20 });
  stage.bring('a', 1, 10);
  stage.bring('b', 2, 10);
  stage.want('c', 3, 10);
  expect(stage.demand('c', 1)).toEqual(['retire 1 evicted']);
  expect(stage.demand('a', 2)).toEqual(['serve 1', 'go-on 2', 'retire 2 evicted']);
  expect(stage.idle(1)).toEqual([]);
});

test('demand beyond demandWaitersMax is refused, and so is one whose deadline passes', () => {
  const stage = new Stage({ demandWaitersMax: 2 });
  stage.tell({ kind: 'budget', bytesMax: 10 });
  stage.bring('a', 1, 10);
  stage.want('b', 2, 10);
  stage.demand('b', 1, 1500);
  stage.demand('b', 2);
  expect(stage.demand('b', 3)).toEqual(['refuse 3 model-full 1000']);
  expect(stage.tickAt(1500)).toContain('refuse 1 deadline-exceeded');
  expect(stage.tell({ kind: 'demand-cancelled', waiter: 2 })).toEqual([]);
  stage.idle(1);
  expect(stage.unloaded(1)).toEqual(['set-aside 1', 'load 2']);
  expect(stage.loaded(2)).toEqual(['serve 2']);
});

test('what is larger than the whole budget is refused by name once that is known, and never loaded again in vain', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 30 });
  stage.bring('a', 1, 10);
  expect(stage.want('b', 2, 10)).toEqual(['load 2']);
  expect(stage.loaded(2, 50)).toEqual(['serve 2', 'retire 2 evicted']);
  stage.idle(2);
  stage.unloaded(2);
  expect(stage.demand('b', 1)).toEqual(['refuse 1 model-not-ready', 'set-aside 2']);
  expect(stage.keeper.takeRevision(1)?.state).toBe('ready');
});

test('only one load of unknown size is in progress under a budget; those of known size go beside it', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 100 });
  stage.bring('a', 1, 10);
  stage.tell({ kind: 'budget', bytesMax: 5 });
  stage.idle(1);
  stage.unloaded(1);
  stage.tell({ kind: 'budget', bytesMax: 100 });
  expect(stage.want('b', 2, 10)).toEqual(['load 2']);
  expect(stage.want('c', 3, 10)).toEqual([]);
  expect(stage.demand('a', 1)).toEqual(['load 1']);
  expect(stage.loaded(2)).toEqual(['serve 2', 'load 3']);
});

test('a replacement that fits only when the old is gone is loaded beside it all the same', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 15 });
  stage.bring('a', 1, 10);
  expect(stage.want('a', 2, 10)).toEqual(['load 2']);
  expect(stage.loaded(2)).toEqual(['serve 2', 'retire 1 replaced']);
});

test('a context that grew over the budget is evicted when it is measured', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 30 });
  stage.bring('a', 1, 10);
  stage.bring('b', 2, 10);
  expect(stage.tell({ kind: 'measured', revision: 2, residentBytes: 25 })).toEqual(['retire 1 evicted']);
});

test('what is pinned comes into memory, and leaves it for nobody', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 10 });
  stage.bring('a', 1, 10);
  stage.want('b', 2, 10);
  expect(stage.tell({ kind: 'pinned', context: 'b', isPinned: true })).toEqual(['retire 1 evicted']);
  stage.idle(1);
  expect(stage.unloaded(1)).toEqual(['set-aside 1', 'load 2']);
  stage.loaded(2);
  expect(stage.demand('a', 1)).toEqual(['refuse 1 model-not-ready', 'set-aside 1']);
});

test('a context that cannot come back refuses those who wait, says when it is tried again, and is', () => {
  const stage = new Stage();
  stage.tell({ kind: 'budget', bytesMax: 10 });
  stage.bring('a', 1, 10);
  stage.bring('b', 2, 10);
  expect(stage.demand('b', 1)).toEqual(['retire 1 evicted']);
  stage.idle(1);
  stage.unloaded(1);
  expect(stage.failed(2)).toEqual([
    `failed 2 again in ${firstPauseMs}`,
    'unload 2',
    `refuse 1 model-not-ready ${firstPauseMs}`,
  ]);
  expect(stage.demand('b', 2)).toEqual([`refuse 2 model-not-ready ${firstPauseMs}`]);
});

test('a context is known until it is dropped, though the last of it is still being unloaded', () => {
  const stage = new Stage();
  stage.want('a', 1);
  expect(stage.keeper.isKnown('a')).toBe(true);
  expect(stage.tell({ kind: 'unwanted', context: 'a', after: [] })).toEqual(['unload 1']);
  expect(stage.keeper.isKnown('a')).toBe(false);
  expect(stage.tell({ kind: 'kept', context: 'a' })).toEqual([]);
  expect(stage.unloaded(1)).toEqual(['forget 1']);
});
