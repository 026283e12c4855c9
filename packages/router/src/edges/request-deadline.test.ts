import { expect, test } from 'vitest';
import { requestTimeoutMsMax, tighterMs, timeoutMsFromField, timeoutMsFromParameter } from './request-deadline.ts';

test('a deadline is a whole number of milliseconds from 1 to the limit', () => {
  expect([1, requestTimeoutMsMax].map((value) => timeoutMsFromField(`${value}`))).toEqual([1, requestTimeoutMsMax]);
  expect([1, requestTimeoutMsMax].map(timeoutMsFromParameter)).toEqual([1, requestTimeoutMsMax]);
  expect(timeoutMsFromParameter(250n)).toBe(250);
  expect([timeoutMsFromField(undefined), timeoutMsFromParameter(undefined)]).toEqual([undefined, undefined]);
});

test.each(['0', '-5', '1.5', 'soon', '', '1, 2', `${requestTimeoutMsMax + 1}`, '9'.repeat(40)])(
  'a header of "%s" is refused with what to write',
  (text) => {
    expect(() => timeoutMsFromField(text)).toThrow(
      `the millrace-timeout-ms header must be a whole number of milliseconds from 1 to 2147483647, not '${text}'`,
    );
  },
);

test.each([0, -1, 0.5, Number.NaN, '5', true, 0n, 2n ** 64n - 1n, requestTimeoutMsMax + 1])(
  'a parameter of %o is refused with what to write',
  (value) => {
    expect(() => timeoutMsFromParameter(value)).toThrow(
      "parameter 'millrace_timeout_ms' must be a whole number of milliseconds from 1 to 2147483647",
    );
  },
);

test('of two limits the tighter one counts', () => {
  expect([tighterMs(3, 5), tighterMs(5, 3), tighterMs(undefined, 5), tighterMs(5, undefined)]).toEqual([3, 3, 5, 5]);
  expect(tighterMs(undefined, undefined)).toBeUndefined();
});
