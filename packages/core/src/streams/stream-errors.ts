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

/** Those that name no value. */
export const streamErrors = {
  draining: streamError('draining', 'this server is shutting down; connect again and resume the stream'),
  fenced: streamError('draining', 'another server has taken over the stream; connect again and resume it'),
  unavailable: streamError('journal-unavailable', 'the journal is not available; resume the stream later'),
  full: streamError('journal-full', 'the journal of the stream is full; acknowledge outputs sooner'),
  expired: streamError('stream-expired', 'the time to live of the stream is over; open a new one'),
  deadline: streamError('deadline-exceeded', 'the deadline of an input passed before it was answered'),
  lost: streamError('worker-lost', 'the state of the model was lost with its worker; open a new stream'),
  removed: streamError('stream-not-found', 'the stream has ended and is no longer kept; open a new one'),
} as const;

export function noShareError(journalWaitMs: number): StreamError {
  return streamError(
    'journal-full',
    `the streams of this caller have held their share of the journal for ${journalWaitMs} ms; end some of them, or acknowledge outputs sooner`,
  );
}

export function notResumedError(resumeWindowMs: number): StreamError {
  return streamError('stream-expired', `no client resumed the stream within ${resumeWindowMs} ms; open a new one`);
}
