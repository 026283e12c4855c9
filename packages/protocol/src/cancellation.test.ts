import { expect, test } from 'vitest';
import { Cancellation, cancellationFrom } from './cancellation.ts';

test('a cancellation calls each listener once, with the first reason', () => {
  const cancellation = new Cancellation();
  const heard: string[] = [];
  cancellation.onCancel((reason) => heard.push(`a ${reason}`));
  const stop = cancellation.onCancel((reason) => heard.push(`b ${reason}`));
  stop();
  cancellation.cancel('deadline-exceeded');
  cancellation.cancel('cancelled');
  cancellation.onCancel((reason) => heard.push(`late ${reason}`));
  expect(heard).toEqual(['a deadline-exceeded', 'late deadline-exceeded']);
  expect(cancellation.reason).toBe('deadline-exceeded');
});

test('an AbortSignal cancels, also when it was aborted before', () => {
  const controller = new AbortController();
  const live = cancellationFrom(controller.signal);
  const heard: string[] = [];
  live.onCancel((reason) => heard.push(`first ${reason}`));
  expect(live.reason).toBeUndefined();
  controller.abort();
  expect(live.reason).toBe('cancelled');
  live.onCancel((reason) => heard.push(`late ${reason}`));
  expect(heard).toEqual(['first cancelled', 'late cancelled']);
});

test('an AbortSignal that timed out is a deadline', () => {
  const controller = new AbortController();
  controller.abort(new DOMException('too late', 'TimeoutError'));
  expect(cancellationFrom(controller.signal).reason).toBe('deadline-exceeded');
});

test('an AbortSignal is listened to only while somebody listens', () => {
  const { signal } = new AbortController();
  const calls: string[] = [];
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
    calls.push('add');
    addEventListener.apply(signal, given);
  };
  signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
    calls.push('remove');
    removeEventListener.apply(signal, given);
  };
  const stop = cancellationFrom(signal).onCancel(() => {});
  stop();
  expect(calls).toEqual(['add', 'remove']);
});
