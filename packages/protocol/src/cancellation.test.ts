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
  expect(live.reason).toBeUndefined();
  controller.abort();
  expect(live.reason).toBe('cancelled');
  expect(cancellationFrom(controller.signal).reason).toBe('cancelled');
});
