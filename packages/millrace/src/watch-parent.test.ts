import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchParent } from './watch-parent.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('below npx the end of the parent is reported once', () => {
  const self = { ppid: 7, env: { npm_command: 'exec' } };
  const onGone = vi.fn();
  watchParent(self, onGone);
  vi.advanceTimersByTime(5000);
  expect(onGone).not.toHaveBeenCalled();
  self.ppid = 1;
  vi.advanceTimersByTime(5000);
  expect(onGone).toHaveBeenCalledTimes(1);
});

test.each([[{}], [{ npm_command: 'run-script' }]])('with the environment %j nobody is watched', (env) => {
  const self = { ppid: 7, env };
  const onGone = vi.fn();
  watchParent(self, onGone);
  self.ppid = 1;
  vi.advanceTimersByTime(5000);
  expect(onGone).not.toHaveBeenCalled();
});

test('nothing is reported after the watch was stopped', () => {
  const self = { ppid: 7, env: { npm_command: 'exec' } };
  const onGone = vi.fn();
  watchParent(self, onGone)();
  self.ppid = 1;
  vi.advanceTimersByTime(5000);
  expect(onGone).not.toHaveBeenCalled();
});
