/** Endings and refusals of the machine and the journal, as edges and callers see them. */
import type { StreamError } from '@millrace/core';
import { type EndedFrame, type ErrorCode, InferenceError } from '@millrace/protocol';
import { StoreError } from '@millrace/store';

export function endedFrameFrom(ending: {
  readonly outcome: EndedFrame['outcome'];
  readonly error: StreamError | undefined;
  readonly outputs: number;
}): EndedFrame {
  const { outcome, error, outputs } = ending;
  if (error === undefined) return { kind: 'ended', outcome, message: '', outputs };
  return { kind: 'ended', outcome, code: error.code as ErrorCode, message: error.message, outputs };
}

export function endedRefusal(error: StreamError | undefined): InferenceError {
  return error === undefined
    ? new InferenceError('input-after-end', 'the stream has ended; open a new one')
    : streamInferenceError(error);
}

export function streamInferenceError({ code, message }: StreamError): InferenceError {
  return new InferenceError(code as ErrorCode, message);
}

export function streamNotFound(id: string): InferenceError {
  return new InferenceError('stream-not-found', `there is no stream ${id}, or it has expired; open a new one`);
}

export function streamDrainingRefusal(): InferenceError {
  return new InferenceError('draining', 'the server is shutting down; open the stream on another server');
}

export function memoryRefusal(): InferenceError {
  return new InferenceError(
    'caller-full',
    'the streams and requests of this caller hold as much memory as one caller may have now; read and acknowledge outputs, and resume the stream after a pause',
  );
}

/** What opening a stream failed with. */
export function openRefusalFrom(error: unknown): InferenceError {
  if (error instanceof InferenceError) return error;
  if (!(error instanceof StoreError)) return new InferenceError('internal', String(error), { cause: error });
  const code = error.code === 'journal-full' ? 'journal-full' : 'journal-unavailable';
  return new InferenceError(code, error.message);
}

/** The same call, rejected with what an edge or an operator can be told. */
export async function orRefused<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw openRefusalFrom(error);
  }
}

/** Why a log refused an append, as the machine distinguishes it. */
export function appendRefusalFrom(error: unknown): 'full' | 'fenced' | 'unavailable' {
  if (!(error instanceof StoreError)) return 'unavailable';
  if (error.code === 'journal-full') return 'full';
  return error.code === 'journal-fenced' ? 'fenced' : 'unavailable';
}
