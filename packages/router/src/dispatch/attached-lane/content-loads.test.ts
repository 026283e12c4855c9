import type { FromWorker, LoadSpec, ModelContent } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { ScriptedLane } from '../../data-plane/testing/scripted-lane.ts';
import { ContentLoads } from './content-loads.ts';

const content: ModelContent = { digest: `sha256:${'0'.repeat(64)}`, file: 'm', files: [], locations: [] };
const spec = (model: number): LoadSpec => ({
  model,
  name: 'm',
  version: '1',
  engine: 'onnxruntime',
  path: `/models/${model}`,
  inputs: [],
  outputs: [],
  isBatched: false,
  threads: 1,
  isSpinning: false,
});

/** A link whose files are described when the test says so. */
function linkUnderTest() {
  const lane = new ScriptedLane();
  const received: FromWorker[] = [];
  const described: { path: string; resolve: (content: ModelContent) => void; reject: (error: Error) => void }[] = [];
  const link = new ContentLoads(
    (receive) => lane.open(receive),
    ({ path }) => new Promise((resolve, reject) => described.push({ path, resolve, reject })),
    (message) => received.push(message),
  );
  const sent = () => lane.last.sent.map((message) => (message.kind === 'load' ? message.spec.model : message.kind));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const dispatch = (): void => {
    const region = link.lend(8);
    link.send({ kind: 'dispatch', batch: 1, model: 1, inputs: [], outputs: [], region });
  };
  return { lane, link, received, described, sent, turn, dispatch };
}

test('what follows a load is sent behind it, when its files have been described, one load after the other', async () => {
  const { lane, link, described, sent, turn, dispatch } = linkUnderTest();
  link.send({ kind: 'unload', model: 9 });
  link.send({ kind: 'load', spec: spec(1) });
  link.send({ kind: 'load', spec: spec(2) });
  dispatch();
  link.stop();
  expect(sent()).toEqual(['unload']);
  expect(described.map(({ path }) => path)).toEqual(['/models/1']);
  described[0]?.resolve(content);
  await turn();
  expect(sent()).toEqual(['unload', 1]);
  expect(lane.last.calls).toEqual([]);
  described[1]?.resolve(content);
  await turn();
  expect(sent()).toEqual(['unload', 1, 2, 'dispatch']);
  expect(lane.last.calls).toEqual(['stop']);
  expect(lane.last.sent[1]).toEqual({ kind: 'load', spec: { ...spec(1), content } });
});

test('files that cannot be described fail their load, and what follows is sent', async () => {
  const { link, received, described, sent, turn } = linkUnderTest();
  link.send({ kind: 'load', spec: spec(1) });
  link.send({ kind: 'unload', model: 9 });
  described[0]?.reject(new Error('/models/1 does not exist'));
  expect(received).toEqual([]);
  await turn();
  const message = 'model "m" version 1 could not be loaded: /models/1 does not exist';
  expect(received).toEqual([{ kind: 'load-failed', model: 1, message }]);
  expect(sent()).toEqual(['unload']);
});

test('the memory of what waits is released when the worker is gone, and nothing comes after that', async () => {
  const { lane, link, received, described, turn, dispatch } = linkUnderTest();
  link.send({ kind: 'load', spec: spec(1) });
  dispatch();
  link.kill('too late');
  lane.last.dies('the link ended');
  expect(lane.releases()).toEqual([1]);
  described[0]?.reject(new Error('why'));
  await turn();
  dispatch();
  expect(lane.releases()).toEqual([1, 1]);
  expect(received.map(({ kind }) => kind)).toEqual(['gone']);
});
