import { expect, test } from 'vitest';
import { defaultStandbyConfig, type StandbyEvent, StandbyKeeper } from './standby-keeper.ts';

const { calmMs, restart, stableMs } = defaultStandbyConfig;

/** A keeper with its clock; jitter is 0, which gives the shortest pauses. */
class StandbyHarness {
  now = 1000;
  wakeAt = Number.POSITIVE_INFINITY;
  readonly keeper: StandbyKeeper;

  constructor(processesMax = 1) {
    this.keeper = new StandbyKeeper({ processesMax });
  }

  /** What it has started and ended about the event. */
  tell(event: StandbyEvent): readonly string[] {
    if (event.kind === 'tick') this.wakeAt = Number.POSITIVE_INFINITY;
    this.keeper.handle(event, this.now);
    return this.keeper.takeActions().flatMap((action) => {
      if (action.kind === 'start-standby') return ['start'];
      if (action.kind === 'end-standbys') return [`end ${action.processes}`];
      this.wakeAt = action.at;
      return [];
    });
  }

  opened(hasWaited = false): readonly string[] {
    return this.tell({ kind: 'worker-opened', hasWaited });
  }

  gone(): readonly string[] {
    return this.tell({ kind: 'worker-gone' });
  }

  fell(): readonly string[] {
    return this.tell({ kind: 'standby-gone', jitter: 0 });
  }

  /** Lets the time pass until it wants to be woken; throws when it does not. */
  next(): readonly string[] {
    if (this.wakeAt === Number.POSITIVE_INFINITY) throw new Error('there is nothing to wake for');
    this.now = this.wakeAt;
    return this.tell({ kind: 'tick' });
  }

  get sleeps(): boolean {
    return this.wakeAt === Number.POSITIVE_INFINITY;
  }
}

test('a standby is started a pause after the last start of a worker, and then no further one', () => {
  const standby = new StandbyHarness();
  expect(standby.opened()).toEqual([]);
  standby.now += calmMs / 2;
  standby.opened();
  expect(standby.wakeAt).toBe(standby.now + calmMs);
  expect(standby.tell({ kind: 'tick' })).toEqual([]);
  expect(standby.next()).toEqual(['start']);
  expect(standby.sleeps).toBe(true);
  expect(standby.keeper.waiting).toBe(1);
});

test('several are started one at a time', () => {
  const standby = new StandbyHarness(2);
  standby.opened();
  expect(standby.next()).toEqual(['start']);
  expect(standby.wakeAt).toBe(standby.now + calmMs);
  expect(standby.next()).toEqual(['start']);
  expect(standby.sleeps).toBe(true);
});

test('there is none where none may be, and none before a worker was needed', () => {
  const none = new StandbyHarness(0);
  none.opened();
  expect(none.sleeps).toBe(true);
  expect(new StandbyHarness().sleeps).toBe(true);
});

test('one that takes the place of a dead worker is replaced after the pause', () => {
  const standby = new StandbyHarness();
  standby.opened();
  standby.next();
  standby.now += 60_000;
  standby.gone();
  expect(standby.opened(true)).toEqual([]);
  expect(standby.keeper.waiting).toBe(0);
  expect(standby.wakeAt).toBe(standby.now + calmMs);
  expect(standby.next()).toEqual(['start']);
});

test('those that exit by themselves are replaced after pauses that double, up to the longest', () => {
  const standby = new StandbyHarness();
  standby.opened();
  const pauses: number[] = [];
  for (let death = 0; death < 8; death++) {
    standby.next();
    standby.fell();
    pauses.push(standby.wakeAt - standby.now);
  }
  const shortest = restart.pauseMs / 2;
  expect(pauses.slice(0, 4)).toEqual([shortest, 2 * shortest, 4 * shortest, 8 * shortest]);
  expect(pauses.at(-1)).toBe(restart.pauseMsMax / 2);
});

test('a long life, and a worker that it became, reset the pauses', () => {
  const standby = new StandbyHarness();
  standby.opened();
  for (let death = 0; death < 5; death++) {
    standby.next();
    standby.fell();
  }
  standby.next();
  standby.now += stableMs;
  standby.fell();
  expect(standby.wakeAt - standby.now).toBe(restart.pauseMs / 2);
  standby.next();
  standby.opened(true);
  standby.next();
  standby.fell();
  expect(standby.wakeAt - standby.now).toBe(restart.pauseMs / 2);
});

test('when no worker is left for a while the standby is ended, and another started with the next worker', () => {
  const standby = new StandbyHarness();
  standby.opened();
  standby.next();
  standby.gone();
  expect(standby.wakeAt).toBe(standby.now + calmMs);
  expect(standby.next()).toEqual(['end 1']);
  expect(standby.sleeps).toBe(true);
  standby.opened();
  expect(standby.next()).toEqual(['start']);
});

test('prepared processes wait without a worker until their preparation has ended; as many as may be stay as standbys', () => {
  const standby = new StandbyHarness();
  standby.tell({ kind: 'prepared', processes: 3 });
  expect(standby.sleeps).toBe(true);
  standby.opened(true);
  expect(standby.tell({ kind: 'preparation-ended' })).toEqual(['end 1']);
  expect(standby.keeper.waiting).toBe(1);
  expect(standby.sleeps).toBe(true);
  const unused = new StandbyHarness();
  unused.tell({ kind: 'prepared', processes: 1 });
  unused.tell({ kind: 'preparation-ended' });
  expect(unused.next()).toEqual(['end 1']);
});

test('closed, it ends those that wait and starts none', () => {
  const standby = new StandbyHarness();
  standby.opened();
  standby.next();
  expect(standby.tell({ kind: 'closed' })).toEqual(['end 1']);
  standby.gone();
  standby.opened();
  expect(standby.sleeps).toBe(true);
});
