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
}

export const errorCatalogue = {
  'invalid-request': {
    number: 1,
    grpc: 'INVALID_ARGUMENT',
    http: 400,
    retry: 'never',
  },
  'request-too-large': {
    number: 2,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 413,
    retry: 'never',
  },
  'unsupported-media': {
    number: 3,
    grpc: 'UNIMPLEMENTED',
    http: 415,
    retry: 'never',
  },
  'not-found': {
    number: 4,
    grpc: 'UNIMPLEMENTED',
    http: 404,
    retry: 'never',
  },
  'method-not-allowed': {
    number: 5,
    grpc: 'UNIMPLEMENTED',
    http: 405,
    retry: 'never',
  },
  forbidden: {
    number: 6,
    grpc: 'PERMISSION_DENIED',
    http: 403,
    retry: 'never',
  },
  'unknown-model': {
    number: 7,
    grpc: 'NOT_FOUND',
    http: 404,
    retry: 'never',
  },
  'model-not-ready': {
    number: 8,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'model-full': {
    number: 9,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'server-full': {
    number: 10,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'wait-too-long': {
    number: 11,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'queue-timeout': {
    number: 12,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'caller-full': {
    number: 13,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 429,
    retry: 'after-backoff',
  },
  'load-not-allowed': {
    number: 14,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'never',
  },
  conflict: {
    number: 15,
    grpc: 'ABORTED',
    http: 409,
    retry: 'after-backoff',
  },
  draining: {
    number: 16,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  cancelled: {
    number: 17,
    grpc: 'CANCELLED',
    http: 499,
    retry: 'never',
  },
  'deadline-exceeded': {
    number: 18,
    grpc: 'DEADLINE_EXCEEDED',
    http: 504,
    retry: 'never',
  },
  'worker-lost': {
    number: 19,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'after-backoff',
  },
  'poison-request': {
    number: 20,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
  },
  'run-time-limit': {
    number: 21,
    grpc: 'DEADLINE_EXCEEDED',
    http: 504,
    retry: 'never',
  },
  'inference-failed': {
    number: 22,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
  },
  unsupported: {
    number: 23,
    grpc: 'UNIMPLEMENTED',
    http: 501,
    retry: 'never',
  },
  internal: {
    number: 24,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'after-backoff',
  },
  'stream-not-found': {
    number: 25,
    grpc: 'NOT_FOUND',
    http: 404,
    retry: 'never',
  },
  'stream-conflict': {
    number: 26,
    grpc: 'ALREADY_EXISTS',
    http: 409,
    retry: 'never',
  },
  'stream-superseded': {
    number: 27,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
  },
  'stream-expired': {
    number: 28,
    grpc: 'NOT_FOUND',
    http: 410,
    retry: 'never',
  },
  'sequence-gap': {
    number: 29,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'resume',
  },
  'input-after-end': {
    number: 30,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'never',
  },
  'output-expired': {
    number: 31,
    grpc: 'FAILED_PRECONDITION',
    http: 410,
    retry: 'never',
  },
  'journal-full': {
    number: 32,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 503,
    retry: 'after-backoff',
  },
  'journal-unavailable': {
    number: 33,
    grpc: 'UNAVAILABLE',
    http: 503,
    retry: 'resume',
  },
  'model-changed': {
    number: 34,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
  },
  'model-unloaded': {
    number: 35,
    grpc: 'ABORTED',
    http: 409,
    retry: 'never',
  },
  'replay-diverged': {
    number: 36,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
  },
  'too-many-streams': {
    number: 37,
    grpc: 'RESOURCE_EXHAUSTED',
    http: 429,
    retry: 'after-backoff',
  },
  'late-input': {
    number: 38,
    grpc: 'FAILED_PRECONDITION',
    http: 409,
    retry: 'never',
  },
  'poison-stream': {
    number: 39,
    grpc: 'INTERNAL',
    http: 500,
    retry: 'never',
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
