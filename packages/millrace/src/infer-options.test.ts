import { expect, test } from 'vitest';
import { type InferOptions, schedulingFrom } from './infer-options.ts';

test('without options there is no limit, no priority and no sequence', () => {
  expect(schedulingFrom({})).toEqual({
    timeoutMs: undefined,
    queueTimeoutMs: Number.POSITIVE_INFINITY,
    priority: 0,
    sequence: undefined,
    caller: '',
  });
});

test('limits, priority and a step of a sequence are passed on', () => {
  const sequence = { id: 7, isStart: true };
  expect(schedulingFrom({ timeoutMs: 5, queueTimeoutMs: 2, priority: 1, sequence, caller: 'team-a' })).toEqual({
    timeoutMs: 5,
    queueTimeoutMs: 2,
    priority: 1,
    sequence: { id: 7n, isStart: true, isEnd: false },
    caller: 'team-a',
  });
  expect(schedulingFrom({ sequence: { id: '7', isEnd: true } }).sequence).toEqual({
    id: '7',
    isStart: false,
    isEnd: true,
  });
  expect(schedulingFrom({ sequence: { id: 2n ** 64n - 1n } }).sequence?.id).toBe(2n ** 64n - 1n);
});

test('a sequence id of 0 or an empty one means no sequence', () => {
  for (const id of [0, 0n, '']) expect(schedulingFrom({ sequence: { id, isStart: true } }).sequence).toBeUndefined();
});

test.each<[unknown, RegExp]>([
  [{ queueTimeoutMs: -1 }, /queueTimeoutMs is -1; it must be a number of milliseconds/],
  [{ timeoutMs: '5' }, /timeoutMs is 5; it must be a number of milliseconds/],
  [{ priority: -1 }, /priority is -1; it must be an integer of 0 or more/],
  [{ priority: 0.5 }, /priority is 0.5/],
  [{ caller: 7 }, /caller is 7; it must be a string/],
  [{ sequence: { id: -1 } }, /sequence.id is -1; it must be an integer from 0/],
  [{ sequence: { id: 2 ** 60 } }, /as a bigint above 2\^53/],
  [{ sequence: { id: 2n ** 64n } }, /sequence.id is 18446744073709551616/],
  [{ sequence: {} }, /sequence.id is undefined/],
  [{ timeoutMS: 5 }, /'timeoutMS' is not an option of infer. Did you mean timeoutMs\?/],
  [{ sequence: { id: 1, isStart: 1 } }, /must be true or false/],
  [{ sequence: { id: 'x'.repeat(129) } }, /has 129 bytes, more than the 128 allowed/],
])('%o is refused', (options, message) => {
  expect(() => schedulingFrom(options as InferOptions)).toThrow(message);
});
