import { beforeEach, expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { ServedModels } from './served-models.ts';
import { showState, showUnreadable } from './testing/show-state.ts';

const [one, two, ten] = ['1', '2', '10'].map((version) => servedModel([], [], { version })) as [
  ReturnType<typeof servedModel>,
  ReturnType<typeof servedModel>,
  ReturnType<typeof servedModel>,
];
let models: ServedModels;

const loading = { state: 'loading', reason: 'the model is loading' } as const;

beforeEach(() => {
  models = new ServedModels();
  for (const model of [two, ten, one]) showState(models, model, loading);
  showUnreadable(models, 'broken', '', 'config.pbtxt:3: no such field');
  showUnreadable(models, 'm', '4', 'model.onnx is truncated');
});

function remove(version: string): void {
  models.remove({ model: 'm', version });
}

function listed(): readonly string[] {
  return models.statuses().map(({ name, version, state, reason }) => `${name}:${version} ${state} ${reason}`);
}

test('without a version the highest ready one answers, by number', () => {
  showState(models, one, { state: 'ready' });
  showState(models, two, { state: 'ready' });
  expect(models.takeServed('m', '')).toBe(two);
  showState(models, ten, { state: 'ready' });
  expect(models.takeServed('m', '')).toBe(ten);
  showState(models, ten, { state: 'failed', reason: 'gone wrong' });
  expect(models.takeServed('m', '')).toBe(two);
  expect(models.readyVersions('m')).toEqual(['1', '2']);
  remove('2');
  expect(models.takeServed('m', '')).toBe(one);
});

test('at a start requests without a version wait for the highest one, and get a lower one when it fails', () => {
  for (const model of [two, ten, one]) showState(models, model, { ...loading, isAwaited: true });
  showState(models, one, { state: 'ready' });
  expect(models.takeServed('m', '')).toBeUndefined();
  expect(models.takeServed('m', '1')).toBe(one);
  expect(models.mustKnow('m', '')).toBe(ten);
  showState(models, ten, { state: 'failed', reason: 'gone wrong' });
  expect(models.mustKnow('m', '')).toBe(two);
  showState(models, two, { state: 'ready' });
  expect(models.takeServed('m', '')).toBe(two);
  // What is added to a model that serves replaces nothing before it is loaded.
  showState(models, ten, { ...loading, isAwaited: true });
  expect(models.takeServed('m', '')).toBe(two);
});

test('unknown names and versions, loading and failed models give different errors', () => {
  showState(models, one, { state: 'failed', reason: 'out of memory' });
  const code = (name: string, version: string) => expect(() => models.mustKnow(name, version));
  code('nobody', '').toThrow("Request for unknown model: 'nobody' is not found");
  code('m', '3').toThrow("Request for unknown model: 'm' version 3 is not found");
  code('m', '2').toThrow("'m' version 2 cannot be served now: the model is loading");
  code('m', '1').toThrow('out of memory');
  code('m', '4').toThrow('model.onnx is truncated');
  code('broken', '').toThrow('config.pbtxt:3: no such field');
  code('m', '').toThrow(expect.objectContaining({ code: 'model-not-ready' }));
  code('m', '3').toThrow(expect.objectContaining({ code: 'unknown-model' }));
});

test('a version that is on disk and not served says so, and how to have it served', () => {
  models.unserved.noteVersions('m', { versions: ['3'], reason: 'version_policy serves only 1; change it' });
  expect(() => models.mustKnow('m', '3')).toThrow(
    /'m' version 3 is not found .*it is in the repository, but version_policy serves only 1; change it$/,
  );
  expect(() => models.mustKnow('m', '5')).toThrow(/version 5 is not found$/);
  models.unserved.noteVersions('m', undefined);
  expect(() => models.mustKnow('m', '3')).toThrow(/version 3 is not found$/);
});
test('statuses list every version and every failure, by name and number', () => {
  showState(models, two, { state: 'ready' });
  expect(listed()).toEqual([
    'broken: failed config.pbtxt:3: no such field',
    'm:1 loading the model is loading',
    'm:2 ready ',
    'm:4 failed model.onnx is truncated',
    'm:10 loading the model is loading',
  ]);
});

test('a version is represented by the model that was last shown, in one step', () => {
  showState(models, one, { state: 'ready' });
  const again = servedModel([], [], { version: '1' });
  showState(models, again, { state: 'ready' });
  expect(models.takeServed('m', '1')).toBe(again);
  expect(models.takeModel('m', '1')).toBe(again);
  remove('1');
  expect(models.takeServed('m', '1')).toBeUndefined();
  expect(models.takeModel('m', '1')).toBeUndefined();
});

test('an evicted version is known, counts as ready and is preferred, but takes no request at once', () => {
  showState(models, one, { state: 'ready' });
  showState(models, two, { state: 'ready' });
  const reason = 'it was unloaded to make room, and is loaded again when a request comes';
  showState(models, two, { state: 'evicted', reason });
  expect(models.takeServed('m', '')).toBeUndefined();
  expect(models.mustKnow('m', '')).toBe(two);
  expect(models.readyVersions('m')).toEqual(['1', '2']);
  expect(listed()).toContain('m:2 evicted it was unloaded to make room, and is loaded again when a request comes');
});

test('a status says what keeps a version from being replaced, whether it is tolerated, and whether it has ever served', () => {
  showState(models, one, { state: 'ready', replacementReason: 'torn', hasServed: true });
  showState(models, two, { state: 'failed', reason: 'out of memory', isTolerated: true, hasServed: true });
  showState(models, ten, { ...loading, isTolerated: true });
  expect(models.statuses().slice(1)).toEqual([
    { name: 'm', version: '1', state: 'ready', reason: '', replacementReason: 'torn' },
    { name: 'm', version: '2', state: 'failed', reason: 'out of memory', isTolerated: true },
    { name: 'm', version: '4', state: 'failed', reason: 'model.onnx is truncated', hasNeverServed: true },
    { name: 'm', version: '10', ...loading, isTolerated: true },
  ]);
});

test('a model none of whose versions can be read says why, whatever version is asked for', () => {
  expect(() => models.mustKnow('broken', '7')).toThrow('config.pbtxt:3: no such field');
  models.remove({ model: 'broken', version: '' });
  expect(() => models.mustKnow('broken', '7')).toThrow("'broken' is not found");
});

test('listeners are called after every change until they stop', () => {
  let changes = 0;
  const stop = models.onChange(() => {
    changes += 1;
  });
  showState(models, one, { state: 'ready' });
  remove('1');
  models.remove({ model: 'broken', version: '' });
  expect(changes).toBe(3);
  stop();
  showState(models, two, { state: 'ready' });
  expect(changes).toBe(3);
});

test('a first load that is awaited can be requested, but is not ready', () => {
  showState(models, two, { ...loading, isAwaited: true });
  expect(models.mustKnow('m', '2')).toBe(two);
  expect(() => models.mustFind('m', '2')).toThrow('the model is loading');
  expect(() => models.mustKnow('m', '')).toThrow(expect.objectContaining({ code: 'model-not-ready' }));
  showState(models, ten, { ...loading, isAwaited: true });
  expect(models.mustKnow('m', '')).toBe(ten);
  showState(models, two, { state: 'failed', reason: 'out of memory' });
  expect(() => models.mustKnow('m', '2')).toThrow('out of memory');
});
