import type { FromWorker } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { ScriptedLane } from '../data-plane/testing/scripted-lane.ts';
import { PreparedLane } from './prepared-lane.ts';

function opened(lane: PreparedLane): { readonly pid: number | undefined; readonly heard: FromWorker[] } {
  const heard: FromWorker[] = [];
  const { pid } = lane.open((message) => heard.push(message));
  return { pid, heard };
}

test('workers that wait are opened first, in order, then others are started', () => {
  const started = new ScriptedLane();
  const lane = new PreparedLane(started);
  lane.prepare(2);
  lane.prepare(2);
  expect(started.links).toHaveLength(2);
  expect([opened(lane).pid, opened(lane).pid, opened(lane).pid]).toEqual([1, 2, 3]);
  expect([lane.name, lane.life]).toEqual([started.name, started.life]);
});

test('what a worker says before it is opened is told afterwards, before what it says then', async () => {
  const started = new ScriptedLane();
  const lane = new PreparedLane(started);
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
  const started = new ScriptedLane();
  const lane = new PreparedLane(started);
  lane.prepare(2);
  started.links[0]?.dies();
  expect(opened(lane).pid).toBe(2);
});

test('workers that nobody has opened are ended', () => {
  const started = new ScriptedLane();
  const lane = new PreparedLane(started);
  lane.prepare(2);
  opened(lane);
  lane.release();
  expect(started.links.map(({ calls }) => calls)).toEqual([[], ['kill']]);
  started.last.dies();
  expect(opened(lane).pid).toBe(3);
});
