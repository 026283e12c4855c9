/** A message of `realtime.inference` with its metadata read: what the payload is, and whose it is. */
import { InferenceError, type JsonObject, quote } from '@millrace/protocol';
import type { InferenceRequest } from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { requestTimeoutMsMax } from '../../request-deadline.ts';
import { checkStreamId } from '../../streams/frame-limits.ts';
import { callParametersOf, contextKey, namedContext, parametersFromText } from './call-settings.ts';

/** Of `metadata["request-id"]`. */
const requestIdCharactersMax = 256;

/** How clients of this contract name a context. */
export const contextByField = `context_id, or the metadata ${contextKey}`;

export interface RealtimeRequest {
  /** Empty: not named. */
  readonly context: string;
  readonly payload: Uint8Array;
  /** As it was written; empty: not said. */
  readonly contentType: string;
  /** False: the message has no payload, and only resumes a stream or ends its inputs. */
  readonly isInput: boolean;
  readonly isLast: boolean;
  /** Empty: none was given. */
  readonly requestId: string;
  readonly timeoutMs: number | undefined;
  readonly parameters: JsonObject;
  /** The message has parameters of its own. */
  readonly hasParameters: boolean;
  readonly streamId: string | undefined;
  /** The last answer that the client has seen; undefined: not said. */
  readonly resumeAfter: number | undefined;
  /** Of the input; undefined: the next on this call. */
  readonly inputSequence: number | undefined;
}

type Metadata = { get(name: string): string | undefined };

/** Throws an `InferenceError` for metadata that makes no sense. */
export function realtimeRequestFrom(message: InferenceRequest, callMetadata: Metadata): RealtimeRequest {
  const { contextId, payload, endOfStream } = message;
  const fields = fieldsOf(message.metadata);
  const streamId = fields.get('stream-id');
  if (streamId !== undefined) checkStreamId(streamId);
  const requestId = fields.get('request-id') ?? '';
  if (requestId.length > requestIdCharactersMax) {
    throw invalid(
      `metadata["request-id"] has ${requestId.length} characters, more than the ${requestIdCharactersMax} allowed`,
    );
  }
  const parameters = fields.get('parameters');
  return {
    context: contextId === '' ? namedContext(callMetadata) : contextId,
    payload,
    contentType: fields.get('content-type') ?? '',
    isInput: payload.length > 0,
    isLast: endOfStream,
    requestId,
    timeoutMs: takeNumber(fields, 'timeout-ms', 1, requestTimeoutMsMax),
    parameters:
      parameters === undefined
        ? callParametersOf(callMetadata)
        : parametersFromText(parameters, 'metadata["parameters"]'),
    hasParameters: parameters !== undefined,
    streamId,
    resumeAfter: takeNumber(fields, 'sequence', 0, Number.MAX_SAFE_INTEGER),
    inputSequence: takeNumber(fields, 'input-sequence', 1, Number.MAX_SAFE_INTEGER),
  };
}

/** The id of a message whose other metadata may make no sense: for the error that says so. Empty: none. */
export function requestIdOf({ metadata }: InferenceRequest): string {
  const [, value = ''] = Object.entries(metadata).find(([written]) => keyFrom(written) === 'request-id') ?? [];
  return value.length <= requestIdCharactersMax ? value.trim() : '';
}

const keys: ReadonlySet<string> = new Set([
  'content-type',
  'request-id',
  'timeout-ms',
  'parameters',
  'stream-id',
  'sequence',
  'input-sequence',
]);

/** Written in any case, with `_` for `-`; what is not known is the client's own. An empty value is none. */
function fieldsOf(metadata: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [written, value] of Object.entries(metadata)) {
    const key = keyFrom(written);
    if (!keys.has(key)) continue;
    if (fields.has(key)) throw invalid(`metadata has ${quote(key)} in two spellings; send it once`);
    fields.set(key, value.trim());
  }
  for (const [key, value] of fields) if (value === '') fields.delete(key);
  return fields;
}

function keyFrom(written: string): string {
  return written.toLowerCase().replaceAll('_', '-');
}

function takeNumber(fields: ReadonlyMap<string, string>, key: string, min: number, max: number): number | undefined {
  const text = fields.get(key);
  if (text === undefined) return undefined;
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw invalid(`metadata["${key}"] must be a whole number from ${min} to ${max}, not ${quote(text)}`);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
