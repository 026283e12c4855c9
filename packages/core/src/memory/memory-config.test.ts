import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { memoryBytesMaxDefault, memoryBytesMinFor, resolveMemoryLimits } from './memory-config.ts';

const mebibyte = 1024 * 1024;

function problemsOf(options: Parameters<typeof resolveMemoryLimits>[0]): readonly string[] {
  try {
    resolveMemoryLimits(options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ field, message }) => `${field} ${message}`);
  }
}

test('without options the parts add up to 2 GiB, with a reserve for a body of 256 MiB', () => {
  const limits = resolveMemoryLimits();
  expect(limits).toEqual({
    sharedBytes: 1600 * mebibyte,
    smallBytes: 128 * mebibyte,
    completionBytes: 320 * mebibyte,
    smallRequestBytesMax: 64 * 1024,
    overdraftBytesMax: 32 * mebibyte,
  });
  expect(limits.sharedBytes + limits.smallBytes + limits.completionBytes).toBe(memoryBytesMaxDefault);
});

test('0 means what the bodies need, and never less than the default', () => {
  expect(resolveMemoryLimits({ bytesMax: 0 })).toEqual(resolveMemoryLimits());
  const { sharedBytes, smallBytes, completionBytes } = resolveMemoryLimits({ bodyBytesMax: 2048 * mebibyte });
  expect(completionBytes).toBe(2560 * mebibyte);
  expect(sharedBytes + smallBytes + completionBytes).toBe(memoryBytesMinFor(2048 * mebibyte));
});

test.each([-1, 1.5, Number.NaN, Infinity, 2 ** 60])('%d bytes of memory are refused', (bytesMax) => {
  const needed = 'must be a whole number of at least 5 bytes for bodies of up to 1 bytes, not';
  expect(problemsOf({ bytesMax, bodyBytesMax: 1 })).toEqual([`bytesMax ${needed} ${bytesMax}`]);
});

test.each([0, -1, 1.5, Number.NaN, Infinity])('bodies of %d bytes are refused', (bodyBytesMax) => {
  expect(problemsOf({ bodyBytesMax })).toEqual([
    `bodyBytesMax must be a whole number of bytes above 0, not ${bodyBytesMax}`,
  ]);
});

test('the memory that bodies of a size need leaves half for everybody, and one byte less is refused', () => {
  for (let bodyBytesMax = 1; bodyBytesMax < 500; bodyBytesMax++) {
    const bytesMax = memoryBytesMinFor(bodyBytesMax);
    expect(resolveMemoryLimits({ bytesMax, bodyBytesMax }).sharedBytes).toBeGreaterThanOrEqual(bytesMax / 2);
    expect(problemsOf({ bytesMax: bytesMax - 1, bodyBytesMax })).toHaveLength(1);
  }
});
