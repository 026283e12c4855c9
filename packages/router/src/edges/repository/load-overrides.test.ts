import { describe, expect, test } from 'vitest';
import { loadFilesMax, loadOverridesFrom } from './load-overrides.ts';

const file = new Uint8Array([1]);

test('a load brings nothing, a configuration, or a configuration and files', () => {
  const files = new Map([['1/model.onnx', file]]);
  expect(loadOverridesFrom(undefined, new Map())).toBeUndefined();
  expect(loadOverridesFrom('{}', new Map())).toEqual({ config: '{}' });
  expect(loadOverridesFrom('{}', files)).toEqual({ config: '{}', files });
});

test('files without a configuration are refused', () => {
  expect(() => loadOverridesFrom(undefined, new Map([['1/model.onnx', file]]))).toThrow(/add the parameter config/);
});

describe('a path that leads elsewhere is refused', () => {
  const paths = ['', '/etc/passwd', '../other/1/model.onnx', '1/../../x', './x', '1//x', '1/x/', '..', '1\\x', 'a\0b'];
  test.each(paths)('%j', (path) => {
    expect(() => loadOverridesFrom('{}', new Map([[path, file]]))).toThrow(
      expect.objectContaining({ code: 'invalid-request' }) as Error,
    );
  });
  test('a very long one', () => {
    expect(() => loadOverridesFrom('{}', new Map([['x'.repeat(513), file]]))).toThrow(/more than 512 characters/);
  });
});

test('more files than the maximum are refused, the maximum itself is not', () => {
  const names = Array.from({ length: loadFilesMax }, (_, index) => [`1/${index}`, file] as const);
  expect(loadOverridesFrom('{}', new Map(names))?.files?.size).toBe(loadFilesMax);
  expect(() => loadOverridesFrom('{}', new Map([...names, ['1/more', file]]))).toThrow(/at most 1024 files/);
});
