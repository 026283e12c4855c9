import { type ErrorCode, errorCatalogue, type GrpcStatusName, type RetryAdvice } from '@millrace/protocol';

/** A code of the server's catalogue; `unreachable`: no server answered, or something between it and us did. */
export type MillraceErrorCode = ErrorCode | 'unreachable';

export interface MillraceErrorOptions extends ErrorOptions {
  /** When the server says that a retry may succeed. */
  readonly retryAfterMs?: number | undefined;
  /** False: no server has seen the request, so that it may be sent again whatever it does. */
  readonly wasSent?: boolean;
  /** True: a server was reached and said that it did not process the request (GOAWAY). */
  readonly isUnprocessed?: boolean;
}

/** A call or a stream failed. Decide by `code`; docs/reference/errors.md of the server explains each. */
export class MillraceError extends Error {
  readonly code: MillraceErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly wasSent: boolean;
  readonly isUnprocessed: boolean;
  /** How many times the call was sent. */
  attempts = 1;
  /** The server that the last attempt went to. */
  endpoint: string | undefined = undefined;

  constructor(code: MillraceErrorCode, message: string, options: MillraceErrorOptions = {}) {
    super(message, options);
    this.name = 'MillraceError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.wasSent = options.wasSent ?? true;
    this.isUnprocessed = options.isUnprocessed ?? false;
  }

  /** What the error catalogue advises. */
  get retry(): RetryAdvice {
    return this.code === 'unreachable' ? 'after-backoff' : errorCatalogue[this.code].retry;
  }

  /** The name of the gRPC status, as retry policies list them. */
  get status(): GrpcStatusName {
    return this.code === 'unreachable' ? 'UNAVAILABLE' : errorCatalogue[this.code].grpc;
  }
}

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

/** No server answered. */
export function unreachable(message: string, wasSent: boolean, cause?: unknown): MillraceError {
  return new MillraceError('unreachable', message, { wasSent, cause });
}

/** A server was reached, and left the request alone. */
export function unprocessed(message: string): MillraceError {
  return new MillraceError('unreachable', message, { wasSent: false, isUnprocessed: true });
}

/** The answer of a server cannot be read: it speaks another version, or something between changed it. */
export function unreadableAnswer(what: string, cause?: unknown): MillraceError {
  return new MillraceError('internal', `the answer of the server cannot be read: ${what}`, { cause });
}
