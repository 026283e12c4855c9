import { expect, test } from 'vitest';
import { earlierEndFrom } from './earlier-end.ts';

test.each([
  ['killed', 'SIGKILL', 'killed'],
  ['killed', 'SIGHUP', 'killed'],
  ['killed', 'SIGSEGV', 'crashed'],
  ['killed', 'SIGBUS', 'crashed'],
  ['crashed', 'SIGABRT', 'crashed'],
  ['crashed', null, 'crashed'],
] as const)('a router that was %s by %s has %s', (cause, signal, end) => {
  expect(earlierEndFrom({ cause, signal, exitCode: signal === null ? 1 : null, pauseMs: 0 })).toBe(end);
});

test('of the process before the first router nothing is known', () => {
  expect(earlierEndFrom(undefined)).toBe('unknown');
});
