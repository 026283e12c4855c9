/**
 * The error catalogue: every way a request can fail, with what each protocol says and what the caller may do next.
 * The code is also the metric label, the SDK's `error.code` and a heading in docs/reference/errors.md.
 */

import { shortened } from './quote.ts';

/** The canonical gRPC status numbers the catalogue uses. */
export const grpcStatus = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type GrpcStatusName = keyof typeof grpcStatus;

/**
 * What the caller may do: `never` repeat the same request; repeat it `after-backoff`; have the router try `other-worker`
 * (the router does so itself; a caller sees this only when there was no other); `resume` the stream from its last
 * output.
 */
export type RetryAdvice = 'never' | 'after-backoff' | 'other-worker' | 'resume';

export interface ErrorKind {
  /** Number of the code in the dispatch protocol: permanent, from 1, never reused. errors.test.ts lists them all. */
  readonly number: number;
  readonly grpc: GrpcStatusName;
  readonly http: number;
  readonly retry: RetryAdvice;
  /** One sentence for docs/reference/errors.md. */
  readonly meaning: string;
}

export const errorCatalogue = {
  'invalid-request': {
    number: 1,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    retry: 'never',
    meaning: 'The request is malformed, or contradicts itself or the model; the message names the field.',
  },
  'request-too-large': {
    number: 2,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 413,
    retry: 'never',
    meaning: 'The request, or a part of it, is over a named size limit.',
  },
  'unsupported-media': {
    number: 3,
    grpc: 'UNIMPLEMENTED',
    http: 415,
    retry: 'never',
    meaning: 'The content type or content encoding of the request is not supported by the server.',
  },
  'not-found': {
    number: 4,
    grpc: 'UNIMPLEMENTED',
    http: 404,
    retry: 'never',
    meaning: 'No such path or method exists on this server.',
  },
  'method-not-allowed': {
    number: 5,
    grpc: 'UNIMPLEMENTED',
    http: 405,
    retry: 'never',
    meaning: 'The path exists, but not with this HTTP method.',
  },
  forbidden: {
    number: 6,
    grpc: 'PERMISSION_DENIED',
    http: 403,
    retry: 'never',
    meaning:
      'A web page of another origin sent the request, it names a host that the server does not answer for, or a load brings code; the message names the setting that allows it.',
  },
  'unknown-model': {
    number: 7,
    grpc: 'NOT_FOUND',
    http: 404,
    retry: 'never',
    meaning: 'No model, or no version of it, has the requested name.',
  },
  'model-not-ready': {
    number: 8,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning:
      'The model exists but is still loading, is being unloaded or failed to load; the message says why, with files by their paths in the repository.',
  },
  'model-full': {
    number: 9,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The queue of this model is at its maximum.',
  },
  'server-full': {
    number: 10,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The queues of all models together are at the maximum of this server.',
  },
  'wait-too-long': {
    number: 11,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The request would wait longer than its deadline, or than the model allows; it was refused at once.',
  },
  'queue-timeout': {
    number: 12,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The request reached the queue timeout of its priority level.',
  },
  'caller-full': {
    number: 13,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 429,
    retry: 'after-backoff',
    meaning: 'This caller has the maximum number of waiting requests of one caller; others are still served.',
  },
  'load-not-allowed': {
    number: 14,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'never',
    meaning: 'Models are loaded and unloaded by request only where `models.controlMode` is `explicit`.',
  },
  conflict: {
    number: 15,
    grpc: 'ABORTED',
    http: 409,
    retry: 'after-backoff',
    meaning: 'The same entry was changed in the meantime; read it again and repeat the change.',
  },
  draining: {
    number: 16,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The server is shutting down and accepts no new requests.',
  },
  cancelled: {
    number: 17,
    grpc: 'CANCELLED',
    http: 499,
    retry: 'never',
    meaning: 'The caller disconnected or cancelled the request.',
  },
  'deadline-exceeded': {
    number: 18,
    grpc: 'DEADLINE_EXCEEDED',
    http: 504,
    retry: 'never',
    meaning: 'The deadline of the request passed before it was answered.',
  },
  'worker-lost': {
    number: 19,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
    meaning: 'The worker that ran the request died, and so did every further attempt the retry policy allows.',
  },
  'poison-request': {
    number: 20,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
    meaning: 'Two workers died while they ran this request; it is not tried a third time.',
  },
  'run-time-limit': {
    number: 21,
    grpc: 'DEADLINE_EXCEEDED',
    http: 504,
    retry: 'never',
    meaning: 'The model ran longer than its time limit and its worker was stopped.',
  },
  'inference-failed': {
    number: 22,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
    meaning: 'The model itself failed on this request; the message is the engine\u2019s.',
  },
  unsupported: {
    number: 23,
    grpc: 'UNIMPLEMENTED',
    http: 501,
    retry: 'never',
    meaning: 'The request asks for something this server, or this model, does not support.',
  },
  internal: {
    number: 24,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'after-backoff',
    meaning: 'A bug in the server; the log has the details under the request id.',
  },
  'stream-not-found': {
    number: 25,
    grpc: 'NOT_FOUND',
    http: 404,
    retry: 'never',
    meaning: 'No such stream exists: it never did, it was deleted, or another caller opened it.',
  },
  'stream-conflict': {
    number: 26,
    grpc: 'ALREADY_EXISTS',
    http: 409,
    retry: 'never',
    meaning: 'A stream of this id exists already, and was opened with other parameters or may not be opened as new.',
  },
  'stream-superseded': {
    number: 27,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
    meaning: 'Another connection resumed the stream; it goes on there.',
  },
  'stream-expired': {
    number: 28,
    grpc: 'NOT_FOUND',
    http: 410,
    retry: 'never',
    meaning: 'The stream was detached for longer than its resume window, or reached its time to live.',
  },
  'sequence-gap': {
    number: 29,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'resume',
    meaning:
      'An input is too far ahead of the next expected one; resume, and send the inputs after the highest that was accepted.',
  },
  'input-after-end': {
    number: 30,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'never',
    meaning: 'An input follows the one that ended the inputs of the stream.',
  },
  'output-expired': {
    number: 31,
    grpc: 'FAILED_PRECONDITION',
    http: 410,
    retry: 'never',
    meaning: 'The outputs to resume after are no longer kept; the message says which is the oldest.',
  },
  'journal-full': {
    number: 32,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 503,
    retry: 'after-backoff',
    meaning:
      'The journal is at its maximum, of this stream, of its caller or of all; acknowledge outputs, or end streams.',
  },
  'journal-unavailable': {
    number: 33,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'resume',
    meaning: 'The journal cannot be written now; resume to see what was accepted.',
  },
  'model-changed': {
    number: 34,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
    meaning: 'The files of the model version that the stream is pinned to have changed; begin a new stream.',
  },
  'model-unloaded': {
    number: 35,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
    meaning:
      'The model version that the stream is pinned to was replaced and its time to drain has passed; begin a new stream.',
  },
  'replay-diverged': {
    number: 36,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
    meaning: 'The model gave other outputs when an input was run again; what was sent before cannot be continued.',
  },
  'too-many-streams': {
    number: 37,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 429,
    retry: 'after-backoff',
    meaning: 'The maximum number of open streams is reached, of this caller or of the server; end streams first.',
  },
  'late-input': {
    number: 38,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'never',
    meaning: 'The event time of the input is further behind than the stream allows; the input was not applied.',
  },
  'poison-stream': {
    number: 39,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
    meaning:
      'The server died again and again while it restored this stream from the journal; it is not tried any more.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The code that has this number; undefined when none has. */
export function takeErrorCode(number: number): ErrorCode | undefined {
  return codeByNumber.get(number);
}

const codeByNumber = new Map<number, ErrorCode>(
  (Object.keys(errorCatalogue) as ErrorCode[]).map((code) => [errorCatalogue[code].number, code]),
);

/** The longest message of an error: it is sent as a header field over gRPC, twice with its details. */
export const messageCharactersMax = 2048;

/** A request failed. Everything that a caller is told about it comes from here. */
export class InferenceError extends Error {
  readonly code: ErrorCode;
  /** When a retry may succeed, if that can be told. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions & { readonly retryAfterMs?: number }) {
    super(shortened(message, messageCharactersMax), options);
    this.name = 'InferenceError';
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }

  get kind(): ErrorKind {
    return errorCatalogue[this.code];
  }
}

/** One configuration problem, with its position and what to do. */
export interface ConfigProblem {
  /** A file path, an environment variable or a command-line flag. */
  readonly source: string;
  readonly line?: number;
  /** Dotted path of the field, as docs/reference/config.md or the model configuration names it. */
  readonly field?: string;
  readonly message: string;
}

export function formatConfigProblem(problem: ConfigProblem): string {
  const line = problem.line === undefined ? '' : `:${problem.line}`;
  const field = problem.field === undefined ? '' : ` ${problem.field}:`;
  return `${problem.source}${line}:${field} ${problem.message}`;
}

/** The configuration is wrong: all problems at once, thrown before anything is opened. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(formatConfigProblem).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
