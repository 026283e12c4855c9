import {
  BodyAborted,
  BodyTooLarge,
  CallerGone,
  type HeaderList,
  type HttpResponse,
  MemoryRefused,
  type StandingResponse,
} from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import * as z from 'zod';

/** The body of an error in the OpenAPI document. */
export const errorSchema = z.object({ error: z.string() }).meta({ id: 'Error' });

/** Carries the code of the error catalogue beside the message, for programs. */
export const errorCodeField = 'millrace-error-code';

const utf8 = new TextEncoder();

export interface RestErrorOptions {
  /** What `retry-after` says where nothing better is known. */
  readonly retryAfterSeconds: number;
  /** Called with unexpected errors; the caller sees only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** `{"error": …}` as Triton's clients expect it. Only messages of an `InferenceError` are sent. */
export function encodeError(error: unknown, options: RestErrorOptions): HttpResponse {
  if (isDefect(error)) options.onError(error);
  const { code, kind, message, retryAfterMs } = inferenceErrorFrom(error);
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    [errorCodeField, code],
  ];
  if (kind.retry === 'after-backoff') {
    const seconds = retryAfterMs === undefined ? options.retryAfterSeconds : wholeSecondsFrom(retryAfterMs);
    headers.push(['retry-after', String(seconds)]);
  }
  if (code === 'unsupported-media') headers.push(['accept-encoding', 'gzip, deflate']);
  return { status: kind.http, headers, body: utf8.encode(JSON.stringify({ error: message })) };
}

/** The field takes whole seconds: rounded up, so that callers do not retry too early. */
function wholeSecondsFrom(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** Errors caused by a client. */
const expected = [InferenceError, BodyTooLarge, BodyAborted, CallerGone, MemoryRefused] as const;

function isDefect(error: unknown): boolean {
  return !expected.some((kind) => error instanceof kind);
}

/** Converts anything that was thrown into the error for the caller. */
export function inferenceErrorFrom(error: unknown): InferenceError {
  if (error instanceof InferenceError) return error;
  if (error instanceof BodyTooLarge) {
    return new InferenceError('request-too-large', `${error.message}; send a smaller one, or raise http.bodyBytesMax`);
  }
  if (error instanceof BodyAborted || error instanceof CallerGone)
    return new InferenceError('cancelled', error.message);
  if (error instanceof MemoryRefused) return new InferenceError('caller-full', error.message);
  return new InferenceError('internal', 'the server failed on this request; its log says why');
}

/** One list for all, so that a connection need not write the same head again. */
const plainFields: HeaderList = [['content-type', 'text/plain']];

/** An answer without a body that the same request gets again while `statusNow` says the same. */
export function standingAnswer(statuses: readonly number[], statusNow: () => number): () => StandingResponse {
  const known = new Map<number, StandingResponse>();
  const again = (): StandingResponse => known.get(statusNow()) as StandingResponse;
  for (const status of statuses) known.set(status, { status, headers: plainFields, again });
  return again;
}

/** The same answer without a body, as in Triton where only the status counts. */
export function withoutBody(status: number, headers?: HeaderList): HttpResponse {
  return { status, headers: headers === undefined ? plainFields : [...plainFields, ...headers] };
}
