import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { httpLimits, resolveHttpLimits } from './config.ts';

test('defaults are complete and within their own ranges', () => {
  const limits = resolveHttpLimits({});
  expect(Object.keys(limits)).toEqual(Object.keys(httpLimits));
  expect(limits.streamsMax).toBe(256);
});

test('every value out of range is named at once', () => {
  const options = { streamsMax: 0, headMsMax: 1.5, connectionsMax: Number.NaN, idleMsMax: Number.POSITIVE_INFINITY };
  expect(() => resolveHttpLimits(options)).toThrow(ConfigError);
  try {
    resolveHttpLimits(options);
  } catch (error) {
    expect((error as ConfigError).problems.map((problem) => problem.field)).toEqual([
      'connectionsMax',
      'headMsMax',
      'streamsMax',
    ]);
  }
});
