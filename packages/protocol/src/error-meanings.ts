/** What each code of the error catalogue means, in a sentence for docs/reference/errors.md. Not beside the codes: those are part of every page that has the client. */
import type { ErrorCode } from './errors.ts';

export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  'invalid-request': 'The request is malformed, or contradicts itself or the model; the message names the field.',
  'request-too-large': 'The request, or a part of it, is over a named size limit.',
  'unsupported-media': 'The content type or content encoding of the request is not supported by the server.',
  'not-found': 'No such path or method exists on this server.',
  'method-not-allowed': 'The path exists, but not with this HTTP method.',
  forbidden:
    'A web page of another origin sent the request, it names a host that the server does not answer for, or a load brings code; the message names the setting that allows it.',
  'unknown-model': 'No model, or no version of it, has the requested name.',
  'model-not-ready':
    'The model exists but is still loading, is being unloaded or failed to load; the message says why, with files by their paths in the repository.',
  'model-full': 'The queue of this model is at its maximum.',
  'server-full': 'The queues of all models together are at the maximum of this server.',
  'wait-too-long': 'The request would wait longer than its deadline, or than the model allows; it was refused at once.',
  'queue-timeout': 'The request reached the queue timeout of its priority level.',
  'caller-full': 'This caller has the maximum number of waiting requests of one caller; others are still served.',
  'load-not-allowed': 'Models are loaded and unloaded by request only where `models.controlMode` is `explicit`.',
  conflict: 'The same entry was changed in the meantime; read it again and repeat the change.',
  draining: 'The server is shutting down and accepts no new requests.',
  cancelled: 'The caller disconnected or cancelled the request.',
  'deadline-exceeded': 'The deadline of the request passed before it was answered.',
  'worker-lost': 'The worker that ran the request died, and so did every further attempt the retry policy allows.',
  'poison-request': 'Two workers died while they ran this request; it is not tried a third time.',
  'run-time-limit': 'The model ran longer than its time limit and its worker was stopped.',
  'inference-failed': 'The model itself failed on this request; the message is the engine\u2019s.',
  unsupported: 'The request asks for something this server, or this model, does not support.',
  internal: 'A bug in the server; the log has the details under the request id.',
  'stream-not-found': 'No such stream exists: it never did, it was deleted, or another caller opened it.',
  'stream-conflict':
    'A stream of this id exists already, and was opened with other parameters or may not be opened as new.',
  'stream-superseded': 'Another connection resumed the stream; it goes on there.',
  'stream-expired': 'The stream was detached for longer than its resume window, or reached its time to live.',
  'sequence-gap':
    'An input is too far ahead of the next expected one; resume, and send the inputs after the highest that was accepted.',
  'input-after-end': 'An input follows the one that ended the inputs of the stream.',
  'output-expired': 'The outputs to resume after are no longer kept; the message says which is the oldest.',
  'journal-full':
    'The journal is at its maximum, of this stream, of its caller or of all; acknowledge outputs, or end streams.',
  'journal-unavailable': 'The journal cannot be written now; resume to see what was accepted.',
  'model-changed': 'The files of the model version that the stream is pinned to have changed; begin a new stream.',
  'model-unloaded':
    'The model version that the stream is pinned to was replaced and its time to drain has passed; begin a new stream.',
  'replay-diverged':
    'The model gave other outputs when an input was run again; what was sent before cannot be continued.',
  'too-many-streams':
    'The maximum number of open streams is reached, of this caller or of the server; end streams first.',
  'late-input': 'The event time of the input is further behind than the stream allows; the input was not applied.',
  'poison-stream':
    'The server died again and again while it restored this stream from the journal; it is not tried any more.',
};
