import { expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { ServedModels } from './served-models.ts';

const versions = ['2', '10', '1'].map((version) => servedModel([], [], { version }));
const [two, ten, one] = versions as [(typeof versions)[0], (typeof versions)[0], (typeof versions)[0]];

function catalogue(): ServedModels {
  return new ServedModels(versions, [
    { name: 'broken', version: '', reason: 'config.pbtxt:3: no such field' },
    { name: 'm', version: '4', reason: 'model.onnx is truncated' },
  ]);
}

test('without a version the highest ready one answers, by number', () => {
  const models = catalogue();
  models.setState(one, 'ready', '');
  models.setState(two, 'ready', '');
  expect(models.mustServe('m', '')).toBe(two);
  models.setState(ten, 'ready', '');
  expect(models.mustServe('m', '')).toBe(ten);
  models.setState(ten, 'failed', 'gone wrong');
  expect(models.mustServe('m', '')).toBe(two);
  expect(models.readyVersions('m')).toEqual(['1', '2']);
});

test('unknown names and versions, loading and failed models are told apart', () => {
  const models = catalogue();
  models.setState(one, 'failed', 'out of memory');
  const code = (name: string, version: string) => expect(() => models.mustServe(name, version));
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
  const models = catalogue();
  models.setState(two, 'ready', 'ignored');
  expect(models.statuses().map(({ name, version, state, reason }) => `${name}:${version} ${state} ${reason}`)).toEqual([
    'broken: failed config.pbtxt:3: no such field',
    'm:1 loading the model is loading',
    'm:2 ready ',
    'm:4 failed model.onnx is truncated',
    'm:10 loading the model is loading',
  ]);
});
