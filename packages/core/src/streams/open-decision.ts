/** What becomes of an `open` frame: a new stream, the resume of an existing one, or a refusal. */
import { type StreamError, streamError } from './stream-errors.ts';

export interface OpenRequest {
  readonly stream: string;
  readonly mode: 'new' | 'resume' | 'either';
  /** Who asks; empty without authentication: then the id is the credential. */
  readonly principal: string;
  /** Undefined, of a resume: not named. */
  readonly context: string | undefined;
  readonly parametersDigest: string | undefined;
}

/** What the opening entry of a stream says about it. */
export interface OpenedStream {
  readonly principal: string;
  readonly context: string;
  readonly parametersDigest: string;
  /** Of the files of the version that the stream is pinned to. */
  readonly modelDigest: string;
  readonly hasEnded: boolean;
}

export type OpenDecision =
  | { readonly kind: 'create' }
  /** `lost`: the machine is told by `model-lost` before the client is attached. */
  | { readonly kind: 'resume'; readonly lost: StreamError | undefined }
  | { readonly kind: 'refuse'; readonly error: StreamError };

/** `modelDigest`: of the files that the pinned version has now; undefined: it is not there any more. */
export function openDecisionOf(
  request: OpenRequest,
  existing: OpenedStream | undefined,
  modelDigest: string | undefined,
): OpenDecision {
  const { stream, mode } = request;
  if (existing === undefined) return mode === 'resume' ? notFound(stream) : { kind: 'create' };
  // Whoever may not resume a stream must not learn that it exists.
  if (existing.principal !== request.principal) return notFound(stream);
  if (mode === 'new')
    return conflict(`stream ${stream} exists; choose another id, or open it with mode either or resume`);
  const { context = existing.context, parametersDigest = existing.parametersDigest } =
    mode === 'resume' ? request : { context: request.context ?? '', parametersDigest: request.parametersDigest ?? '' };
  if (context !== existing.context) {
    return conflict(
      `stream ${stream} was opened with context ${existing.context}, not ${context}; use the same or another id`,
    );
  }
  if (parametersDigest !== existing.parametersDigest) {
    return conflict(`stream ${stream} was opened with other parameters; use the same or another id`);
  }
  return { kind: 'resume', lost: lostOf(existing, modelDigest) };
}

function lostOf(
  { hasEnded, modelDigest: pinned }: OpenedStream,
  modelDigest: string | undefined,
): StreamError | undefined {
  if (hasEnded || modelDigest === pinned) return undefined;
  return modelDigest === undefined
    ? streamError('model-unloaded', 'the model version of the stream is no longer served; open a new stream')
    : streamError(
        'model-changed',
        'the files of the model version have changed since the stream was opened; open a new stream',
      );
}

function notFound(stream: string): OpenDecision {
  const message = `there is no stream ${stream}, or it has expired; open a new one`;
  return { kind: 'refuse', error: streamError('stream-not-found', message) };
}

function conflict(message: string): OpenDecision {
  return { kind: 'refuse', error: streamError('stream-conflict', message) };
}
