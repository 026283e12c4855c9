import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { type EngineOptions, modelPathsFrom } from './engine-options.ts';

test('one path or several name the models', () => {
  expect(modelPathsFrom({ models: './models' })).toEqual(['./models']);
  expect(modelPathsFrom({ models: ['a', 'b.onnx'], allowFailures: true })).toEqual(['a', 'b.onnx']);
});

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /createEngine: needs options: createEngine\(\{ models: /],
  ['no models', {}, /createEngine: models: must be the path of a model repository or .onnx file/],
  ['an empty list', { models: [] }, /models: must be the path/],
  ['a path that is no text', { models: ['a', 1] }, /models: must be the path/],
  [
    'a misspelt option',
    { model: './x' },
    /model: is not an option. Did you mean models\?[\s\S]*models: must be the path/,
  ],
])('%s is refused', (_, options, message) => {
  const read = (): unknown => modelPathsFrom(options as Partial<EngineOptions>);
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(message);
});
