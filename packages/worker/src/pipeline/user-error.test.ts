import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { failureFromUserError } from './user-error.ts';

const path = '/models/my flow/1/pipeline.ts';

function thrownAt(...frames: readonly string[]): Error {
  const error = new Error('it broke');
  error.stack = ['Error: it broke', ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

test('the innermost place in the pipeline\u2019s own files is told', () => {
  const error = thrownAt(
    'decode (file:///usr/lib/library.js:1:2)',
    'framed (file:///models/my%20flow/1/lib/ink.ts?millrace=3:44:7)',
    'async Object.run (file:///models/my%20flow/1/pipeline.ts?millrace=3:12:5)',
  );
  expect(failureFromUserError(error, path)).toMatchObject({
    code: 'inference-failed',
    message: 'it broke (ink.ts:44)',
  });
});

test('without a place there, and for what is no error, the message stands alone', () => {
  expect(failureFromUserError(thrownAt('native'), path).message).toBe('it broke');
  expect(failureFromUserError('just text', path)).toMatchObject({ code: 'inference-failed', message: 'just text' });
  expect(failureFromUserError(undefined, path).message).toBe('undefined');
});

test.each([
  ['invalid-request', 'invalid-request'],
  ['model-full', 'model-full'],
  ['deadline-exceeded', 'deadline-exceeded'],
  ['unknown-model', 'model-not-ready'],
  ['cancelled', 'inference-failed'],
] as const)('a failed call with %s fails the request with %s', (code, told) => {
  expect(failureFromUserError(new InferenceError(code, 'because'), path)).toMatchObject({
    code: told,
    message: 'because',
  });
});
