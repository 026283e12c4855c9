import { fromBinary } from '@bufbuild/protobuf';
import { MemoryRefused, RpcError } from '@millrace/http';
import { type ErrorCode, errorCatalogue, grpcStatus, InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../proto/generated/google/rpc/error_details_pb.ts';
import { createErrorEncoder } from './encode-error.ts';

test('every code of the catalogue has its status and its details', () => {
  const heard: unknown[] = [];
  const encode = createErrorEncoder({ retryAfterSeconds: 7, onError: (error) => heard.push(error) });
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const error = encode(new InferenceError(code, 'message'));
    expect(error.message).toBe('message');
    const details = new Map(error.details.map(({ type, value }) => [type, value]));
    const info = fromBinary(ErrorInfoSchema, details.get('google.rpc.ErrorInfo') as Uint8Array);
    expect(info.reason).toBe(code.toUpperCase().replaceAll('-', '_'));
    const retry = details.get('google.rpc.RetryInfo');
    expect(retry !== undefined).toBe(errorCatalogue[code].retry === 'after-backoff');
    if (retry !== undefined) expect(fromBinary(RetryInfoSchema, retry).retryDelay?.seconds).toBe(7n);
    const bad = details.get('google.rpc.BadRequest');
    expect(bad !== undefined).toBe(code === 'invalid-request');
    if (bad !== undefined) expect(fromBinary(BadRequestSchema, bad).fieldViolations[0]?.description).toBe('message');
    const name = errorCatalogue[code].grpc;
    expect(error.code).toBe(name === 'CANCELLED' ? 'canceled' : name.toLowerCase());
    expect(grpcStatus[name]).toBeGreaterThan(0);
  }
  expect(heard).toEqual([]);
});

test('an error with a retry delay reports it to the millisecond', () => {
  const encode = createErrorEncoder({ retryAfterSeconds: 7, onError: () => {} });
  const error = encode(new InferenceError('caller-full', 'message', { retryAfterMs: 2345.5 }));
  const retry = error.details.find(({ type }) => type === 'google.rpc.RetryInfo')?.value as Uint8Array;
  expect(fromBinary(RetryInfoSchema, retry).retryDelay).toMatchObject({ seconds: 2n, nanos: 346_000_000 });
  const final = encode(new InferenceError('deadline-exceeded', 'message', { retryAfterMs: 5 }));
  expect(final.details.map(({ type }) => type)).toEqual(['google.rpc.ErrorInfo']);
});

test.each([
  ['a message that is too large', new RpcError('resource_exhausted', 'message'), 'REQUEST_TOO_LARGE'],
  ['a message that cannot be read', new RpcError('invalid_argument', 'message'), 'INVALID_REQUEST'],
  ['a deadline that has passed', new RpcError('deadline_exceeded', 'message'), 'DEADLINE_EXCEEDED'],
  [
    'a caller that has its share of the memory',
    new RpcError('resource_exhausted', 'message', [], { cause: new MemoryRefused() }),
    'CALLER_FULL',
  ],
])('%s is refused by the protocol with the code of the catalogue', (_, refused, reason) => {
  const encode = createErrorEncoder({ retryAfterSeconds: 7, onError: () => {} });
  const error = encode(refused);
  expect(error).toMatchObject({ code: refused.code, message: 'message' });
  const info = error.details.find(({ type }) => type === 'google.rpc.ErrorInfo')?.value as Uint8Array;
  expect(fromBinary(ErrorInfoSchema, info)).toMatchObject({ reason, domain: 'millrace' });
  // Encoding it again, as two layers do, changes nothing.
  expect(encode(error)).toBe(error);
});

test('an unexpected error is reported to the operator only', () => {
  const heard: unknown[] = [];
  const encode = createErrorEncoder({ retryAfterSeconds: 1, onError: (error) => heard.push(error) });
  const defect = new TypeError('secret');
  expect(encode(defect)).toMatchObject({ code: 'internal', message: expect.not.stringContaining('secret') });
  expect(heard).toEqual([defect]);
  const own = new RpcError('aborted', 'x');
  expect(encode(own)).toBe(own);
});
