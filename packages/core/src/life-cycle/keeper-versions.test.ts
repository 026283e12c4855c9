import { expect, test } from 'vitest';
import { defaultKeeperConfig } from './keeper-config.ts';
import { KeeperHarness } from './testing/keeper-harness.ts';

const { retry } = defaultKeeperConfig;
const firstPauseMs = retry.pauseMs / 2;
const failure = 'no such operator';

/** A keeper whose server found these versions, one context each, and has said so. */
function started(...versions: readonly string[]): KeeperHarness {
  const harness = new KeeperHarness();
  for (const [index, version] of versions.entries()) harness.want(version, index + 1);
  harness.tell({ kind: 'started' });
  return harness;
}

/** The unload after a failed load ends, and the time of the next attempt comes. */
function tryAgain(harness: KeeperHarness, revision: number): void {
  harness.unloaded(revision);
  harness.tickAt(harness.now + retry.pauseMsMax);
}

test('a version is loading, ready, unloading and gone', () => {
  const harness = started('m:1');
  expect(harness.takeStates()).toEqual(['m:1 loading by 1']);
  harness.loaded(1);
  expect(harness.takeStates()).toEqual(['m:1 ready by 1']);
  harness.tell({ kind: 'unwanted', context: 'm:1', after: [] });
  expect(harness.takeStates()).toEqual(['m:1 unloading by 1']);
  harness.idle(1);
  harness.unloaded(1);
  expect(harness.takeStates()).toEqual(['m:1 removed']);
});

test('a version that never loaded stays failed with its reason while it is tried again, and is never tolerated', () => {
  const harness = started('good:1', 'bad:1');
  harness.loaded(1);
  harness.takeStates();
  harness.failed(2);
  expect(harness.takeStates()).toEqual([`bad:1 failed by 2 (${failure}), never served`]);
  for (let attempt = 2; attempt < 20; attempt++) {
    tryAgain(harness, 2);
    expect(harness.keeper.takeRevision(2)?.state).toBe('loading');
    harness.failed(2);
  }
  expect(harness.takeStates()).toEqual([]);
  tryAgain(harness, 2);
  harness.failed(2, false, 0, 'another reason');
  expect(harness.takeStates()).toEqual(['bad:1 failed by 2 (another reason), never served']);
  tryAgain(harness, 2);
  harness.loaded(2);
  expect(harness.takeStates()).toEqual(['bad:1 ready by 2']);
});

test('each load says which attempt it is, until one succeeds', () => {
  const harness = new KeeperHarness();
  const attempts: number[] = [];
  const tell = (event: Parameters<typeof harness.tell>[0]): void => {
    harness.keeper.handle(event, harness.now);
    for (const action of harness.keeper.takeActions()) if (action.kind === 'load') attempts.push(action.attempt);
  };
  tell({ kind: 'wanted', revisions: [harness.wanted('m:1', 1)] });
  for (let attempt = 0; attempt < 2; attempt++) {
    tell({ kind: 'unservable', revision: 1, member: 0, reason: '', residentBytes: 0, isFinal: false, jitter: 0 });
    tell({ kind: 'unloaded', revision: 1 });
    harness.now += retry.pauseMsMax;
    tell({ kind: 'tick' });
  }
  expect(attempts).toEqual([1, 2, 3]);
});

test('nothing is tolerated before the first attempt of all that was found at the start has ended', () => {
  const harness = started('a:1', 'b:1');
  harness.want('late:1', 3);
  harness.failed(3);
  expect(harness.takeStates().at(-1)).toBe(`late:1 failed by 3 (${failure}), never served`);
  harness.loaded(1);
  harness.takeStates();
  harness.loaded(2);
  // It came before the start was over, so it counts as found at the start.
  expect(harness.takeStates()).toEqual(['b:1 ready by 2']);
});

test('what is added later is tolerated while it loads and when it fails; once it has served it is needed', () => {
  const harness = started('a:1');
  harness.loaded(1);
  harness.takeStates();
  harness.want('late:1', 2);
  expect(harness.takeStates()).toEqual(['late:1 loading by 2, tolerated']);
  harness.failed(2);
  expect(harness.takeStates()).toEqual([`late:1 failed by 2 (${failure}), tolerated, never served`]);
  tryAgain(harness, 2);
  harness.loaded(2);
  harness.failed(2);
  expect(harness.takeStates()).toEqual(['late:1 ready by 2', `late:1 failed by 2 (${failure})`]);
});

test('a version that served and fails is tolerated for as long as another version of its model serves', () => {
  const harness = started('m:1', 'm:2');
  harness.loaded(1);
  harness.loaded(2);
  harness.takeStates();
  harness.failed(2);
  expect(harness.takeStates()).toEqual([`m:2 failed by 2 (${failure}), tolerated`]);
  harness.failed(1);
  expect(harness.takeStates()).toEqual([`m:1 failed by 1 (${failure})`, `m:2 failed by 2 (${failure})`]);
  harness.servable(1);
  expect(harness.takeStates()).toEqual(['m:1 ready by 1', `m:2 failed by 2 (${failure}), tolerated`]);
});

test('a version that was broken at the start is not tolerated although another of its model serves', () => {
  const harness = started('m:1', 'm:2');
  harness.loaded(1);
  harness.failed(2);
  expect(harness.takeStates().at(-1)).toBe(`m:2 failed by 2 (${failure}), never served`);
});

test('a model that could not be read at the start is needed, whatever its files become', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'unreadable', model: 'm', versions: [{ version: '', reason: 'no such field' }] });
  harness.tell({ kind: 'started' });
  expect(harness.takeStates()).toEqual(['m: failed by nothing (no such field), never served']);
  harness.want('m:1', 1);
  harness.tell({ kind: 'unreadable', model: 'm', versions: [] });
  harness.failed(1);
  expect(harness.takeStates()).toEqual([
    'm:1 loading by 1',
    'm: removed',
    `m:1 failed by 1 (${failure}), never served`,
  ]);
});

test('a model that is added later and cannot be read is tolerated, also when its files change', () => {
  const harness = started();
  for (const reason of ['half copied', 'torn']) {
    harness.tell({ kind: 'unreadable', model: 'new', versions: [{ version: '', reason }] });
    expect(harness.takeStates()).toEqual([`new: failed by nothing (${reason}), tolerated, never served`]);
  }
});

test('a model that serves and cannot be read any more has served, and is tolerated while a version of it serves', () => {
  const harness = started('m:1');
  harness.loaded(1);
  harness.takeStates();
  harness.tell({ kind: 'unreadable', model: 'm', versions: [{ version: '', reason: 'no such field' }] });
  expect(harness.takeStates()).toEqual(['m: failed by nothing (no such field), tolerated']);
  harness.failed(1);
  expect(harness.takeStates()).toEqual([`m:1 failed by 1 (${failure})`, 'm: failed by nothing (no such field)']);
});

test('a version that serves shows why its new files cannot be read or loaded, until a replacement succeeds', () => {
  const harness = started('m:1');
  harness.loaded(1);
  harness.takeStates();
  harness.tell({ kind: 'unreadable', model: 'm', versions: [{ version: '1', reason: 'torn' }] });
  expect(harness.takeStates()).toEqual(['m:1 ready by 1, not replaced: torn']);
  harness.tell({ kind: 'unreadable', model: 'm', versions: [] });
  harness.want('m:1', 2);
  expect(harness.takeStates()).toEqual(['m:1 ready by 1']);
  harness.failed(2);
  expect(harness.takeStates()).toEqual([`m:1 ready by 1, not replaced: ${failure}`]);
  harness.unloaded(2);
  harness.want('m:1', 3);
  harness.loaded(3);
  expect(harness.takeStates()).toEqual(['m:1 ready by 1', 'm:1 ready by 3']);
});

test('a replacement takes over when all of its workers have tried, not with the first of them', () => {
  const harness = started('m:1');
  harness.loaded(1);
  harness.want('m:1', 2);
  expect(harness.servable(2)).toEqual([]);
  expect(harness.settled(2)).toEqual(['serve 2', 'retire 1 replaced']);
  harness.want('m:2', 3);
  expect(harness.servable(3)).toEqual([]);
  expect(harness.settled(3)).toEqual(['serve 3']);
});

test('a first load serves with its first worker, and is measured again when all of them have tried', () => {
  const harness = started('m:1');
  expect(harness.servable(1, 0, 5)).toEqual(['serve 1']);
  harness.settled(1, 9);
  expect(harness.keeper.usedBytes).toBe(9);
});

test('versions that share workers are served without the one that fails, which is ready when a worker has loaded it', () => {
  const harness = new KeeperHarness();
  harness.want('group', 1, 10, true, ['a:1', 'b:1']);
  harness.tell({ kind: 'started' });
  expect(harness.failed(1, false, 0)).toEqual([]);
  expect(harness.servable(1, 1)).toEqual(['serve 1']);
  expect(harness.takeStates()).toEqual([
    'a:1 loading by 1',
    'b:1 loading by 1',
    `a:1 failed by 1 (${failure}), never served`,
    'b:1 ready by 1',
  ]);
  harness.servable(1, 0);
  expect(harness.takeStates()).toEqual(['a:1 ready by 1']);
});

test('new files of one model do not end the service of others that share its workers', () => {
  const harness = new KeeperHarness();
  harness.want('group', 1, 10, true, ['a:1', 'b:1']);
  harness.loaded(1, 10, 2);
  harness.want('group', 2, 10, true, ['a:1', 'b:1']);
  harness.failed(2, true, 0);
  expect(harness.servable(2, 1)).toEqual(['failed 2 old serves', 'unload 2']);
  expect(harness.takeStates().slice(-2)).toEqual([
    `a:1 ready by 1, not replaced: ${failure}`,
    `b:1 ready by 1, not replaced: a version 1: ${failure}`,
  ]);
});

test('the reason of a load names its versions where there are several, and is final if all of them are', () => {
  const harness = new KeeperHarness();
  harness.keeper.handle({ kind: 'wanted', revisions: [harness.wanted('group', 1, 1, true, ['a:1', 'b:2'])] }, 0);
  const failed = { kind: 'unservable', revision: 1, residentBytes: 0, jitter: 0 } as const;
  harness.keeper.handle({ ...failed, member: 0, reason: 'torn', isFinal: true }, 0);
  harness.keeper.handle({ ...failed, member: 1, reason: 'no memory', isFinal: false }, 0);
  expect(harness.keeper.takeActions()).toContainEqual({
    kind: 'failed',
    revision: 1,
    reason: 'a version 1: torn; b version 2: no memory',
    isOldServing: false,
    retryInMs: firstPauseMs,
  });
});

test('under a budget requests may wait for a first load; what is evicted is so until it is loaded again or fails', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.want('a:1', 1);
  harness.loaded(1);
  harness.want('b:1', 2);
  harness.tell({ kind: 'started' });
  expect(harness.takeStates()).toEqual(['a:1 loading by 1, awaited', 'a:1 ready by 1', 'b:1 evicted by 2']);
  harness.demand('b:1', 1);
  expect(harness.takeStates()).toEqual(['a:1 evicted by 1']);
  harness.idle(1);
  harness.unloaded(1);
  expect(harness.keeper.takeRevision(2)?.state).toBe('loading');
  expect(harness.takeStates()).toEqual([]);
  harness.failed(2);
  expect(harness.takeStates()).toEqual([`b:1 failed by 2 (${failure})`]);
});

test('a failed load without room for another attempt stays failed, and is tried again for a request', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.want('b:1', 2);
  harness.failed(2);
  harness.unloaded(2);
  harness.want('a:1', 3);
  harness.loaded(3);
  harness.takeStates();
  expect(harness.tickAt(harness.now + firstPauseMs)).toEqual(['set-aside 2']);
  expect(harness.takeStates()).toEqual([`b:1 failed by 2 (${failure}), awaited, never served`]);
  harness.demand('b:1', 1);
  harness.idle(3);
  expect(harness.unloaded(3)).toEqual(['set-aside 3', 'load 2']);
  expect(harness.loaded(2)).toEqual(['serve 2', 'go-on 1']);
});

test('an evicted version is represented by its new revision, whatever happens to the old one', () => {
  const harness = new KeeperHarness();
  harness.tell({ kind: 'budget', bytesMax: 10 });
  harness.want('a:1', 1);
  harness.loaded(1);
  harness.want('b:1', 2);
  harness.takeStates();
  harness.want('b:1', 3);
  expect(harness.takeStates()).toEqual(['b:1 evicted by 3']);
});

test('a version that serves and fails shows its own reason while its replacement is being loaded', () => {
  const harness = started('m:1');
  harness.loaded(1);
  harness.want('m:1', 2);
  harness.takeStates();
  harness.failed(1, false, 0, 'crash loop');
  expect(harness.takeStates()).toEqual(['m:1 failed by 1 (crash loop)']);
  harness.loaded(2);
  expect(harness.takeStates()).toEqual(['m:1 ready by 2']);
});

test('a version that moves to another context is represented by the old one until the new one serves', () => {
  const harness = started('a:1');
  harness.loaded(1);
  harness.takeStates();
  harness.want('group', 2, 10, true, ['a:1', 'b:1']);
  harness.tell({ kind: 'unwanted', context: 'a:1', after: ['group'] });
  expect(harness.takeStates()).toEqual(['b:1 loading by 2, tolerated']);
  harness.loaded(2, 10, 2);
  expect(harness.takeStates()).toEqual(['a:1 ready by 2', 'b:1 ready by 2']);
  harness.idle(1);
  harness.unloaded(1);
  expect(harness.takeStates()).toEqual([]);
});

test('a version without workers follows what is told of it: it waits, is ready, fails', () => {
  const harness = new KeeperHarness();
  harness.want('pair:1', 1);
  const pending = (reason: string) => harness.tell({ kind: 'pending', revision: 1, member: 0, reason });
  expect(pending('the model is loading')).toEqual(['serve 1']);
  expect(harness.settled(1, 0)).toEqual([]);
  harness.tell({ kind: 'started' });
  harness.want('late:1', 2);
  harness.failed(2);
  expect(harness.takeStates()).toEqual([
    'pair:1 loading by 1',
    'late:1 loading by 2',
    `late:1 failed by 2 (${failure}), never served`,
  ]);
  harness.servable(1, 0, 0);
  harness.failed(1, true);
  pending('its step loads');
  expect(harness.takeStates()).toEqual(['pair:1 ready by 1', `pair:1 failed by 1 (${failure})`, 'pair:1 loading by 1']);
});
