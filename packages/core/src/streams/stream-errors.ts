/** The codes of the error catalogue with which the machine of a durable stream ends it, or closes a link. */
export type StreamErrorCode =
  | 'cancelled'
  | 'deadline-exceeded'
  | 'draining'
  | 'input-after-end'
  | 'invalid-request'
  | 'journal-full'
  | 'journal-unavailable'
  | 'late-input'
  | 'model-changed'
  | 'model-unloaded'
  | 'output-expired'
  | 'poison-request'
  | 'replay-diverged'
  | 'request-too-large'
  | 'sequence-gap'
  | 'stream-conflict'
  | 'stream-expired'
  | 'stream-not-found'
  | 'stream-superseded'
  | 'worker-lost';

/** Why a stream ends, or a link is closed. */
export interface StreamError {
  /** The codes above, and those with which a step may fail. */
  readonly code: string;
  readonly message: string;
}

/** Makes sure that a code of the machine's own is one of the list. */
export function streamError(code: StreamErrorCode, message: string): StreamError {
  return { code, message };
}
