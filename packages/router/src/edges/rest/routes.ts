/** The operations of the Open Inference Protocol over REST. */
import type { HttpResponse } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import { z } from 'zod';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { CallerRule } from '../caller.ts';
import { extensionsOf, type OpenInferenceParts } from '../open-inference.ts';
import { requestTimeoutMsMax, timeoutField } from '../request-deadline.ts';
import type { Route } from '../routing/route.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { RestConfig } from './config.ts';
import { headerLengthField } from './decode-request.ts';
import { errorCodeField, withoutBody } from './encode-error.ts';
import { encodeModelConfig, encodeModelMetadata, jsonResponse } from './encode-model.ts';
import { InferOperation } from './infer.ts';
import { modelOperation } from './model-operation.ts';
import { repositoryRoutes } from './repository-routes.ts';
import * as schemas from './schemas.ts';
import { statisticsRoutes } from './statistics-routes.ts';

export interface RestDependencies extends OpenInferenceParts {
  readonly config: RestConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  /** Hears of defects; clients are told only that there was one. */
  readonly onError: (error: unknown) => void;
}

const json = (schema: z.ZodType) => ({ 'application/json': schema });
const refusals = {
  400: { description: 'The request is malformed', content: json(schemas.errorSchema) },
  404: { description: 'There is no such model or version', content: json(schemas.errorSchema) },
  429: { description: 'This caller has as many requests waiting as one may', content: json(schemas.errorSchema) },
  503: { description: 'The model is not ready or full; try again later', content: json(schemas.errorSchema) },
};

export function restRoutes(dependencies: RestDependencies): readonly Route[] {
  const { management, statistics } = dependencies;
  return [
    ...serverRoutes(dependencies),
    ...modelRoutes(dependencies),
    ...(statistics === undefined ? [] : statisticsRoutes({ ...dependencies, statistics })),
    ...(management === undefined ? [] : repositoryRoutes({ ...dependencies, management })),
  ];
}

function serverRoutes(dependencies: RestDependencies): readonly Route[] {
  const { health, server } = dependencies;
  const extensions = extensionsOf(dependencies);
  const { name, version } = server;
  const probe = (path: string, operationId: string, summary: string, isHealthy: () => boolean): Route => ({
    method: 'GET',
    path,
    operationId,
    summary,
    responses: { 200: { description: 'Yes' }, 400: { description: 'No' } },
    handler: () => withoutBody(isHealthy() ? 200 : 400),
  });
  return [
    probe('/v2/health/live', 'serverLive', 'Whether the server is up', () => health.isLive),
    probe('/v2/health/ready', 'serverReady', 'Whether every model is ready', () => health.isReady),
    {
      method: 'GET',
      path: '/healthz',
      operationId: 'healthz',
      summary: 'Whether the process is up, for probes that know no protocol',
      responses: {
        200: { description: 'It is', content: json(schemas.healthSchema) },
        503: { description: 'It is not', content: json(schemas.healthSchema) },
      },
      handler: () => jsonResponse({ live: health.isLive, ready: health.isReady }, health.isLive ? 200 : 503),
    },
    {
      method: 'GET',
      path: '/v2',
      operationId: 'serverMetadata',
      summary: 'What the server is and which extensions it offers',
      responses: { 200: { description: 'The metadata', content: json(schemas.serverMetadataSchema) } },
      handler: () => jsonResponse({ name, version, extensions }),
    },
  ];
}

function modelRoutes(dependencies: RestDependencies): readonly Route[] {
  const { catalogue } = dependencies;
  const operation = new InferOperation(dependencies);
  return [
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '',
      name: 'Metadata',
      summary: 'What a model takes and gives',
      responses: {
        200: { description: 'The metadata', content: json(schemas.modelMetadataSchema) },
        404: refusals[404],
        503: refusals[503],
      },
      run: (_, model, version) => {
        const view = catalogue.mustFind(model, version);
        return encodeModelMetadata(view, version === '' ? catalogue.readyVersions(model) : [view.version]);
      },
    }),
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '/ready',
      name: 'Ready',
      summary: 'Whether a model is ready',
      responses: { 200: { description: 'Yes' }, 400: { description: 'No', content: json(schemas.errorSchema) } },
      run: (_, model, version) => modelReady(catalogue, model, version),
    }),
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '/config',
      name: 'Config',
      summary: 'The completed configuration of a model, in Triton\u2019s form',
      responses: {
        200: { description: 'The configuration', content: json(z.looseObject({})) },
        404: refusals[404],
        503: refusals[503],
      },
      run: (_, model, version) => encodeModelConfig(catalogue.mustFind(model, version)),
    }),
    ...modelOperation(dependencies, {
      method: 'POST',
      suffix: '/infer',
      name: 'Infer',
      summary: 'Run a model',
      headers: {
        [headerLengthField]: z
          .int()
          .min(0)
          .describe('Bytes of JSON in front of the body; 0: none, the body is the one input; absent: all is JSON'),
        [timeoutField]: z
          .int()
          .min(1)
          .max(requestTimeoutMsMax)
          .describe('Deadline of the request, in milliseconds from now; absent: none'),
      },
      request: {
        description: 'JSON, or JSON followed by binary tensors as Inference-Header-Content-Length says',
        content: { ...json(schemas.inferRequestSchema), 'application/octet-stream': undefined },
      },
      responses: {
        200: {
          description: 'JSON, or JSON followed by binary tensors as Inference-Header-Content-Length says',
          content: { ...json(schemas.inferResponseSchema), 'application/octet-stream': undefined },
        },
        ...refusals,
      },
      run: ({ request }, model, version) => operation.run(request, model, version),
    }),
  ];
}

/** A model that is not there is as little ready as one that is loading: the status is the same, as probes expect. */
function modelReady(catalogue: Catalogue, model: string, version: string): HttpResponse {
  try {
    catalogue.mustFind(model, version);
    return withoutBody(200);
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    const refusal = jsonResponse({ error: 'Model version not ready' }, 400);
    return { ...refusal, headers: [...refusal.headers, [errorCodeField, error.code]] };
  }
}
