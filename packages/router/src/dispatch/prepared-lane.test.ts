import { defaultStandbyConfig } from '@millrace/core';
import type { FromWorker, Lane } from '@millrace/protocol';
import { beforeEach, expect, test } from 'vitest';
import { HeldClock } from '../data-plane/testing/held-clock.ts';
import { ScriptedLane } from '../data-plane/testing/scripted-lane.ts';
import { PreparedLane } from './prepared-lane.ts';

const { calmMs, restart } = defaultStandbyConfig;

let started: ScriptedLane;
let clock: HeldClock;
/** The numbers of standbys that were reported. */
let changes: number[];

beforeEach(() => {
  started = new ScriptedLane();
  clock = new HeldClock();
  changes = [];
});

function prepared(processesMax = 0, lane: Lane = started): PreparedLane {
  const made: PreparedLane = new PreparedLane({
    lane,
    clock,
    random: () => 0,
    standby: { processesMax },
    onChange: () => changes.push(made.standbys),
  });
  return made;
}

function opened(lane: PreparedLane): { readonly pid: number | undefined; readonly heard: FromWorker[] } {
  const heard: FromWorker[] = [];
  const { pid } = lane.open((message) => heard.push(message));
  return { pid, heard };
}

function callsOf(lane: ScriptedLane): readonly (readonly string[])[] {
  return lane.links.map(({ calls }) => calls);
}

test('workers that wait are opened first, in order, then others are started', () => {
  const lane = prepared();
  lane.prepare(2);
  lane.prepare(2);
  expect(started.links).toHaveLength(2);
  expect([opened(lane).pid, opened(lane).pid, opened(lane).pid]).toEqual([1, 2, 3]);
  expect([lane.name, lane.life]).toEqual([started.name, started.life]);
});

test('what a worker says before it is opened is told afterwards, before what it says then', async () => {
  const lane = prepared();
  lane.prepare(1);
  started.last.says({ kind: 'credit', batchesMax: 1 });
  const { heard } = opened(lane);
  expect(heard).toEqual([]);
  started.last.says({ kind: 'credit', batchesMax: 2 });
  await Promise.resolve();
  started.last.says({ kind: 'credit', batchesMax: 3 });
  expect(heard).toEqual([1, 2, 3].map((batchesMax) => ({ kind: 'credit', batchesMax })));
});

test('a worker that has exited while it waited is not given to anyone', () => {
  const lane = prepared();
  lane.prepare(2);
  started.links[0]?.dies();
  expect(opened(lane).pid).toBe(2);
});

test('workers that nobody has opened are ended', () => {
  const lane = prepared();
  lane.prepare(2);
  opened(lane);
  lane.release();
  expect(callsOf(started)).toEqual([[], ['kill']]);
  started.last.dies();
  expect(opened(lane).pid).toBe(3);
});

test('the worker after a death is the standby, and the standby is replaced a while later', () => {
  const lane = prepared(1);
  opened(lane);
  expect(started.links).toHaveLength(1);
  clock.advance(calmMs);
  expect(started.links).toHaveLength(2);
  const [worker, standby] = started.links;
  worker?.dies();
  expect(opened(lane).pid).toBe(standby?.pid);
  expect(started.links).toHaveLength(2);
  clock.advance(calmMs);
  expect(started.links).toHaveLength(3);
  clock.advance(100 * calmMs);
  expect(started.links).toHaveLength(3);
  expect(changes).toEqual([1, 0, 1]);
});

test('a standby that exits by itself is replaced after pauses that grow', () => {
  const lane = prepared(1);
  opened(lane);
  clock.advance(calmMs);
  started.last.dies();
  clock.advance(restart.pauseMs / 2 - 1);
  expect(started.links).toHaveLength(2);
  clock.advance(1);
  started.last.dies();
  clock.advance(restart.pauseMs - 1);
  expect(started.links).toHaveLength(3);
  clock.advance(1);
  expect(started.links).toHaveLength(4);
});

test('without workers the standby is ended, and its exit starts no other', () => {
  const lane = prepared(1);
  opened(lane);
  clock.advance(calmMs);
  started.links[0]?.dies();
  clock.advance(calmMs);
  expect(callsOf(started)).toEqual([[], ['kill']]);
  started.last.dies();
  clock.advance(100 * calmMs);
  expect(started.links).toHaveLength(2);
  expect(lane.standbys).toBe(0);
});

test('closed, it ends those that wait and starts only what is opened', () => {
  const lane = prepared(1);
  opened(lane);
  clock.advance(calmMs);
  lane.close();
  expect(callsOf(started)).toEqual([[], ['kill']]);
  expect(opened(lane).pid).toBe(3);
  clock.advance(100 * calmMs);
  expect(started.links).toHaveLength(3);
});

test('workers that run on their own have no standbys', () => {
  const lane = prepared(1, {
    name: 'local',
    life: 'attached',
    open: (receive) => started.open(receive),
  });
  opened(lane);
  clock.advance(100 * calmMs);
  expect(started.links).toHaveLength(1);
});
