import { InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { echoEdge, jsonRequest, noStreams } from '../rest/testing/echo-double.ts';

describe('failures', () => {
  const request = jsonRequest({ inputs: [] });
  const failing = (error: unknown, retryAfterSeconds = 1) =>
    echoEdge({
      dataPlane: {
        noteRefusal: () => {},
        deadlineAfter: () => 0,
        openStream: noStreams,
        infer: () => Promise.reject(error),
      },
      limits: { retryAfterSeconds },
    });

  test('an InferenceError keeps its message, status and code', async () => {
    const { call, errors } = failing(new InferenceError('model-full', 'Exceeds maximum queue size'), 3);
    const reply = await call(request);
    expect(reply.status).toBe(503);
    expect(reply.text()).toBe('{"error":"Exceeds maximum queue size"}');
    expect(reply.headers.get('millrace-error-code')).toBe('model-full');
    expect(reply.headers.get('retry-after')).toBe('3');
    expect(errors).toEqual([]);
  });

  test.each([
    [40, '1'],
    [1000, '1'],
    [1001, '2'],
    [59_500, '60'],
  ])('a retry delay is reported in whole seconds: %s ms', async (retryAfterMs, seconds) => {
    const reply = await failing(new InferenceError('wait-too-long', 'later', { retryAfterMs }), 7).call(request);
    expect(reply.headers.get('retry-after')).toBe(seconds);
  });

  test('an error that cannot be retried has no retry delay', async () => {
    const reply = await failing(new InferenceError('deadline-exceeded', 'too late')).call(request);
    expect(reply.status).toBe(504);
    expect(reply.headers.has('retry-after')).toBe(false);
  });

  test('an unexpected error is reported to the operator and hidden from the caller', async () => {
    const { call, errors } = failing(new TypeError('secret detail'));
    const reply = await call(request);
    expect(reply.status).toBe(500);
    expect(reply.text()).not.toContain('secret');
    expect(reply.text()).not.toContain('at ');
    expect(reply.headers.get('millrace-error-code')).toBe('internal');
    expect(errors).toMatchObject([{ message: 'secret detail' }]);
  });
});
