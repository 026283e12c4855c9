import { ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ModelLocation } from '../../repository/repository-layout.ts';
import { fingerprintHashOf, KeptConfigs } from './kept-configs.ts';

let models: ModelRepository;
let location: ModelLocation;

beforeEach(() => {
  models = new ModelRepository().write('m/1/model.onnx', 'one').write('m/config.pbtxt', 'max_batch_size: 1');
  location = { name: 'm', path: `${models.path}/m`, isSingleFile: false, hasConfig: true, versions: ['1'] };
});
afterEach(() => models.remove());

test('a configuration is kept until the files of its model change', async () => {
  const configs = new KeptConfigs();
  const load = { config: '{}', print: await fingerprintHashOf(location) };
  configs.note('m', load);
  expect(await configs.takeFor('m', location)).toBe(load);
  models.write('m/config.pbtxt', 'max_batch_size: 16');
  expect(await configs.takeFor('m', location)).toBeUndefined();
});

test('a configuration is not kept without its model, after an unload, or for files that came with it', async () => {
  const configs = new KeptConfigs();
  const load = { config: '{}', print: await fingerprintHashOf(location) };
  configs.note('m', load);
  expect(await configs.takeFor('m', undefined)).toBeUndefined();
  configs.forget('m');
  expect(await configs.takeFor('m', location)).toBeUndefined();
  configs.note('m', load);
  configs.note('m', { ...load, folder: 'elsewhere' });
  expect(await configs.takeFor('m', location)).toBeUndefined();
  configs.note('m', load);
  configs.note('m', {});
  expect(await configs.takeFor('m', location)).toBeUndefined();
});
