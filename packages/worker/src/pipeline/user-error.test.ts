import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { failureFromUserError, reasonCharactersMax } from './user-error.ts';

const path = '/models/my flow/1/pipeline.ts';

function thrownAt(...frames: readonly string[]): Error {
  const error = new Error('it broke');
  error.stack = ['Error: it broke', ...frames.map((frame) => `    at ${frame}`)].join('\n');
  return error;
}

test('the message has the innermost position in the pipeline\u2019s own files', () => {
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

test('without such a position, and for values that are no errors, there is only the message', () => {
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

test.each([
  ['has no text', Object.create(null)],
  ['throws when it is converted to text', { toString: () => mustFail() }],
  ['hides its message', Object.defineProperty(new Error('x'), 'message', { get: () => mustFail() })],
  ['is a hostile proxy', new Proxy({}, { getPrototypeOf: () => mustFail(), get: () => mustFail() })],
])('a thrown value that %s still gets an answer', (_, thrown) => {
  expect(failureFromUserError(thrown, path)).toMatchObject({
    code: 'inference-failed',
    message: 'it threw a value that cannot be converted to text; throw an Error',
  });
});

test('an invalid code and an invalid stack are ignored', () => {
  const forged = Object.assign(new InferenceError('invalid-request', 'x'), { code: 'nonsense', stack: 7 });
  expect(failureFromUserError(forged, path)).toMatchObject({ code: 'inference-failed', message: 'x' });
});

test('a long message is truncated', () => {
  const { message } = failureFromUserError(new Error('x'.repeat(1e6)), '/elsewhere/pipeline.ts');
  expect(message).toBe(`${'x'.repeat(reasonCharactersMax)}…`);
});

function mustFail(): never {
  throw new Error('do not read this');
}
