/** A message of `Predict` as a request of the data plane. */
import type { UnaryCall } from '@millrace/http';
import { InferenceError, type JsonObject, quote } from '@millrace/protocol';
import { type InferRequest, noTrail, type ParameterValue } from '../../../data-plane/infer.ts';
import { withSamplingParameters } from '../../../data-plane/sampling-parameters.ts';
import type { ModelView } from '../../../model/model-view.ts';
import type { InferenceRequest } from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { StreamModel } from '../../../streams/stream-model.ts';
import { tighterMs } from '../../request-deadline.ts';
import { scheduleKeys } from '../../schedule-parameters.ts';
import { typedPayloadFrom } from './payload-inputs.ts';
import type { RealtimeParts } from './realtime-parts.ts';
import { contextByField, type RealtimeRequest, realtimeRequestFrom } from './realtime-request.ts';

export interface PredictRequest {
  readonly request: InferRequest;
  readonly model: StreamModel;
}

type PredictCall = Pick<UnaryCall<unknown>, 'metadata' | 'peer' | 'timeoutMs' | 'subject'>;

/** Throws an `InferenceError` for what makes no sense, or what the model does not take. */
export function predictRequestFrom(message: InferenceRequest, call: PredictCall, parts: RealtimeParts): PredictRequest {
  const { dataPlane, defaultContext, callerOf } = parts;
  const request = realtimeRequestFrom(message, call.metadata);
  checkUnary(request);
  const context = defaultContext.orNamed(request.context, contextByField);
  call.subject = context;
  const view = mustFind(parts, context, request.context);
  const model = new StreamModel(view);
  const payload = typedPayloadFrom(request.contentType, request.payload, () => view);
  // Of a model with state this is its first step, which begins with zeros.
  const inputs = model.inputsFrom(payload, undefined);
  const { parameters } = request;
  const isGenerator = view.isGenerator === true;
  return {
    model,
    request: {
      target: {
        model: context,
        version: '',
        id: '',
        parameters: isGenerator ? new Map() : plainParameters(parameters),
        outputs: [],
        sequence: undefined,
      },
      inputs: isGenerator ? withSamplingParameters(inputs, parameters) : inputs,
      origin: {
        caller: callerOf(call).caller,
        deadlineAt: dataPlane.deadlineAfter(tighterMs(call.timeoutMs, request.timeoutMs)),
        queueTimeoutMs: Number.POSITIVE_INFINITY,
        priority: 0,
        trail: noTrail,
      },
    },
  };
}

function mustFind({ catalogue, defaultContext }: RealtimeParts, context: string, named: string): ModelView {
  try {
    return catalogue.mustFind(context, '');
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    throw defaultContext.explained(error, named, contextByField);
  }
}

function checkUnary({ isInput, streamId, resumeAfter, inputSequence }: RealtimeRequest): void {
  if (streamId !== undefined || resumeAfter !== undefined || inputSequence !== undefined) {
    throw invalid('stream-id, sequence and input-sequence belong to streams; call PredictStream, or leave them out');
  }
  if (!isInput) throw invalid('the payload is empty; send the input of the model');
}

/** Models that are no generators take plain values. */
function plainParameters(parameters: JsonObject): Map<string, ParameterValue> {
  const plain = new Map<string, ParameterValue>();
  for (const [key, value] of Object.entries(parameters)) {
    if (value === null || typeof value === 'object') {
      throw invalid(`parameter ${quote(key)} must be a string, a number or a boolean`);
    }
    if (scheduleKeys.has(key) || key === 'timeout' || key.startsWith('triton_')) {
      throw invalid(`parameter ${quote(key)} cannot be used with Predict; leave it out`);
    }
    plain.set(key, value);
  }
  return plain;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
