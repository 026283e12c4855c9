import { beforeEach, expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { ServedModels } from './served-models.ts';

const [one, two, ten] = ['1', '2', '10'].map((version) => servedModel([], [], { version })) as [
  ReturnType<typeof servedModel>,
  ReturnType<typeof servedModel>,
  ReturnType<typeof servedModel>,
];
let models: ServedModels;

beforeEach(() => {
  models = new ServedModels();
  for (const model of [two, ten, one]) models.announce(model);
  models.setFailures('broken', [{ version: '', reason: 'config.pbtxt:3: no such field' }]);
  models.setFailures('m', [{ version: '4', reason: 'model.onnx is truncated' }]);
});

function listed(): readonly string[] {
  return models.statuses().map(({ name, version, state, reason }) => `${name}:${version} ${state} ${reason}`);
}

test('without a version the highest ready one answers, by number', () => {
  models.serve(one);
  models.serve(two);
  expect(models.takeServed('m', '')).toBe(two);
  models.serve(ten);
  expect(models.takeServed('m', '')).toBe(ten);
  models.setState(ten, 'failed', 'gone wrong');
  expect(models.takeServed('m', '')).toBe(two);
  expect(models.readyVersions('m')).toEqual(['1', '2']);
  models.remove(two);
  expect(models.takeServed('m', '')).toBe(one);
});

test('unknown names and versions, loading and failed models give different errors', () => {
  models.setState(one, 'failed', 'out of memory');
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

test('statuses list every version and every failure, by name and number', () => {
  models.serve(two);
  expect(listed()).toEqual([
    'broken: failed config.pbtxt:3: no such field',
    'm:1 loading the model is loading',
    'm:2 ready ',
    'm:4 failed model.onnx is truncated',
    'm:10 loading the model is loading',
  ]);
});

test('a revision that is set aside represents its version instead of an earlier one that is set aside and unloaded', () => {
  const newer = servedModel([], [], { version: '1' });
  models.serve(one);
  models.announce(newer);
  models.setAside(one);
  models.setAside(newer);
  models.remove(one);
  expect(models.mustKnow('m', '1')).toBe(newer);
});

test('a new revision replaces the old one in one step, and later states of the old one are ignored', () => {
  models.serve(one);
  const again = servedModel([], [], { version: '1' });
  models.announce(again);
  expect(models.takeServed('m', '1')).toBe(one);
  models.setState(again, 'failed', 'its load failed');
  expect(models.takeServed('m', '1')).toBe(one);
  models.serve(again);
  expect(models.takeServed('m', '1')).toBe(again);
  models.setState(one, 'failed', 'its worker died');
  expect(models.remove(one)).toBe(false);
  expect(models.takeServed('m', '1')).toBe(again);
  expect(models.remove(again)).toBe(true);
  expect(models.takeServed('m', '1')).toBeUndefined();
});

test('an evicted version is known, counts as ready and is preferred, but takes no request at once', () => {
  models.serve(one);
  models.serve(two);
  models.setAside(two);
  expect(models.takeServed('m', '')).toBeUndefined();
  expect(models.mustKnow('m', '')).toBe(two);
  expect(models.readyVersions('m')).toEqual(['1', '2']);
  expect(listed()).toContain('m:2 evicted it was unloaded to make room, and is loaded again when a request comes');
});

test('unreadable files are a failure until they can be read, but not of a version that is served', () => {
  models.serve(one);
  models.setFailures('m', [{ version: '1', reason: 'torn' }]);
  expect(listed()).toContain('m:1 ready ');
  models.setFailures('broken', []);
  expect(listed().filter((text) => text.startsWith('broken'))).toEqual([]);
});

test('listeners are called after every change until they stop', () => {
  let changes = 0;
  const stop = models.onChange(() => {
    changes += 1;
  });
  models.serve(one);
  models.remove(one);
  models.setFailures('broken', []);
  expect(changes).toBe(3);
  stop();
  models.serve(two);
  expect(changes).toBe(3);
});

test('a failed later addition is tolerated; a failure at the start or of a served version is not', () => {
  const tolerated = () =>
    models.statuses().flatMap(({ name, version, isTolerated }) => (isTolerated === true ? [`${name}:${version}`] : []));
  models.setState(ten, 'failed', 'at the start');
  models.serve(two);
  models.endStart();
  expect(tolerated()).toEqual([]);
  models.setState(one, 'failed', 'never served');
  models.setFailures('new', [{ version: '', reason: 'half copied' }]);
  expect(tolerated()).toEqual(['m:1', 'new:']);
  models.setState(two, 'failed', 'its workers die');
  models.setState(two, 'loading', 'once more');
  models.setState(two, 'failed', 'they die again');
  expect(tolerated()).toEqual(['m:1', 'new:']);
  models.serve(ten);
  models.setState(two, 'failed', 'another version serves meanwhile');
  expect(tolerated()).toEqual(['m:1', 'm:2', 'new:']);
});

test('a first load that is awaited can be requested, but is not ready', () => {
  models.announce(two, true);
  expect(models.mustKnow('m', '2')).toBe(two);
  expect(() => models.mustFind('m', '2')).toThrow('the model is loading');
  expect(() => models.mustKnow('m', '')).toThrow(expect.objectContaining({ code: 'model-not-ready' }));
  models.announce(ten, true);
  expect(models.mustKnow('m', '')).toBe(ten);
  models.serve(one);
  expect(models.mustKnow('m', '')).toBe(one);
  models.setState(two, 'failed', 'out of memory');
  expect(() => models.mustKnow('m', '2')).toThrow('out of memory');
});

test('an evicted version is represented by its new revision, whatever happens to the previous one', () => {
  const [before, after] = [servedModel([], [], { version: '1' }), servedModel([], [], { version: '1' })];
  models.remove(one);
  models.setAside(before);
  models.announce(after, true);
  expect(models.mustKnow('m', '1')).toBe(after);
  expect(models.readyVersions('m')).toEqual(['1']);
  models.remove(before);
  expect(models.mustKnow('m', '1')).toBe(after);
});
