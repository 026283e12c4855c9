/** Triton's generate extension: `/generate` for one answer, `/generate_stream` for answers as server-sent events. */
import { BodyTooLarge, type HttpRequest, type HttpResponse } from '@millrace/http';
import { InferenceError, quote } from '@millrace/protocol';
import * as z from 'zod';
import type { InferRequest } from '../../../data-plane/infer.ts';
import { timeoutField, timeoutMsFromField } from '../../request-deadline.ts';
import { encodeError } from '../../routing/encode-error.ts';
import { jsonContent, type Route } from '../../routing/route.ts';
import type { RestInferDependencies } from '../infer.ts';
import { modelOperation } from '../model-operation.ts';
import { refusals } from '../refusals.ts';
import { decodeGenerateRequest } from './decode-request.ts';
import { eventHeaders, generatedResponse } from './encode-response.ts';
import { GeneratedEvents } from './generated-events.ts';

const bodySchema = z
  .looseObject({ id: z.string().optional(), parameters: z.looseObject({}).optional() })
  .meta({ id: 'GenerateRequest' });
const answerSchema = z
  .looseObject({ model_name: z.string(), model_version: z.string() })
  .meta({ id: 'GenerateResponse' });

export function generateRoutes(dependencies: RestInferDependencies): readonly Route[] {
  const { dataPlane, config, onError } = dependencies;
  const answered = (run: Promise<HttpResponse>): Promise<HttpResponse> =>
    run.catch((error: unknown) => encodeError(error, { retryAfterSeconds: config.retryAfterSeconds, onError }));
  const request = { description: 'Inputs by name, and parameters', content: jsonContent(bodySchema) };
  return [
    ...modelOperation(dependencies, {
      method: 'POST',
      suffix: '/generate',
      name: 'Generate',
      summary: 'Run a model on a JSON object',
      request,
      responses: { 200: { description: 'Outputs by name', content: jsonContent(answerSchema) }, ...refusals },
      run: ({ request: http }, model, version) =>
        answered(
          requestFrom(dependencies, http, model, version)
            .then((decoded) => dataPlane.infer(decoded, http.signal))
            .then(generatedResponse),
        ),
    }),
    ...modelOperation(dependencies, {
      method: 'POST',
      suffix: '/generate_stream',
      name: 'GenerateStream',
      summary: 'Run a model on a JSON object, and get its answers as server-sent events',
      request,
      responses: {
        200: { description: 'One event an answer', content: { 'text/event-stream': undefined } },
        ...refusals,
      },
      run: ({ request: http }, model, version) =>
        answered(
          requestFrom(dependencies, http, model, version).then((decoded) => streamed(dependencies, decoded, http)),
        ),
    }),
  ];
}

async function requestFrom(
  { catalogue, callers, config, dataPlane }: RestInferDependencies,
  { headers, peer, body }: HttpRequest,
  model: string,
  version: string,
): Promise<InferRequest> {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new InferenceError('unsupported', `Content-Encoding is ${quote(encoding)}; send the body uncompressed`);
  }
  const view = catalogue.mustFind(model, version);
  const caller = callers.callerOf(headers, peer);
  const timeoutMs = timeoutMsFromField(headers.get(timeoutField));
  const { keysMax, nameBytesMax: keyBytesMax, jsonHeadBytesMax: headBytesMax } = config;
  const bytes = await wholeBody(body, headBytesMax, config.bodyBytesMax);
  const limits = { keysMax, keyBytesMax, headBytesMax };
  const deadlineAfter = (ms: number | undefined): number => dataPlane.deadlineAfter(ms);
  return decodeGenerateRequest({ view, model, version, caller, timeoutMs, deadlineAfter, limits }, bytes);
}

/** The object is read at once, like the JSON before binary tensors, and has its limit. */
async function wholeBody(body: HttpRequest['body'], headBytesMax: number, bodyBytesMax: number): Promise<Uint8Array> {
  try {
    return await body.readAll(Math.min(headBytesMax, bodyBytesMax));
  } catch (error) {
    if (!(error instanceof BodyTooLarge) || bodyBytesMax < headBytesMax) throw error;
    throw new InferenceError(
      'request-too-large',
      `${error.message}; send a smaller one, or raise http.jsonHeadBytesMax`,
      { cause: error },
    );
  }
}

/** The status follows from the first answer. */
async function streamed(
  { dataPlane }: RestInferDependencies,
  request: InferRequest,
  { signal }: HttpRequest,
): Promise<HttpResponse> {
  const events = new GeneratedEvents(dataPlane, request, signal);
  const failure = await events.failedAtOnce();
  if (failure !== undefined) {
    events.abandon();
    throw failure;
  }
  return { status: 200, headers: eventHeaders, body: events, release: () => events.abandon() };
}
