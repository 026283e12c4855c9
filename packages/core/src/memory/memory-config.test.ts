import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { memoryBytesMaxDefault, resolveMemoryLimits } from './memory-config.ts';

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

test('without options the parts add up to 2 GiB, with room for a body of 256 MiB set aside', () => {
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

test.each([0, -1, 1.5, Number.NaN, Infinity])('%d is no number of bytes', (bytes) => {
  expect(problemsOf({ bytesMax: bytes })).toEqual([`bytesMax must be a whole number of bytes above 0, not ${bytes}`]);
  expect(problemsOf({ bodyBytesMax: bytes })).toEqual([
    `bodyBytesMax must be a whole number of bytes above 0, not ${bytes}`,
  ]);
});

test('all problems are listed at once', () => {
  expect(problemsOf({ bytesMax: 0, bodyBytesMax: 0 })).toHaveLength(2);
});

test('memory in which the largest body leaves less than half for the others is refused, with what would do', () => {
  const [problem] = problemsOf({ bytesMax: 100, bodyBytesMax: 36 });
  expect(problem).toBe('bytesMax is 100 bytes, too little for bodies of 36 bytes: allow 103 bytes, or smaller bodies');
  expect(problemsOf({ bytesMax: 103, bodyBytesMax: 36 })).toEqual([]);
});

test('what a refusal names as enough is enough', () => {
  for (let bodyBytesMax = 1; bodyBytesMax < 500; bodyBytesMax++) {
    const [problem = ''] = problemsOf({ bytesMax: 1, bodyBytesMax });
    const enough = Number(/allow (\d+) bytes/.exec(problem)?.[1]);
    expect(problemsOf({ bytesMax: enough, bodyBytesMax })).toEqual([]);
  }
});
