/** Metadata, configuration and readiness of a model. */
import type { HttpResponse } from '@millrace/http';
import * as z from 'zod';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { takeReadinessProblem } from '../model-readiness.ts';
import { errorCodeField, errorSchema, withoutBody } from '../routing/encode-error.ts';
import { jsonContent, type Route } from '../routing/route.ts';
import { encodeModelConfig, encodeModelMetadata, jsonResponse } from './encode-model.ts';
import { type ModelOperationDependencies, modelOperation } from './model-operation.ts';
import { refusals } from './refusals.ts';
import { modelMetadataSchema } from './schemas.ts';

export interface ModelRoutesDependencies extends ModelOperationDependencies {
  readonly catalogue: Catalogue;
}

export function modelRoutes(dependencies: ModelRoutesDependencies): readonly Route[] {
  const { catalogue } = dependencies;
  return [
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '',
      name: 'Metadata',
      summary: 'Inputs and outputs of a model',
      responses: {
        200: { description: 'The metadata', content: jsonContent(modelMetadataSchema) },
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
      responses: { 200: { description: 'Yes' }, 400: { description: 'No', content: jsonContent(errorSchema) } },
      run: (_, model, version) => modelReady(catalogue, model, version),
    }),
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '/config',
      name: 'Config',
      summary: 'The completed configuration of a model, in Triton\u2019s form',
      responses: {
        200: { description: 'The configuration', content: jsonContent(z.looseObject({})) },
        404: refusals[404],
        503: refusals[503],
      },
      run: (_, model, version) => encodeModelConfig(catalogue.mustFind(model, version)),
    }),
  ];
}

/** An unknown model gets the same status as one that is loading, as probes expect. */
function modelReady(catalogue: Catalogue, model: string, version: string): HttpResponse {
  const problem = takeReadinessProblem(catalogue, model, version);
  if (problem === undefined) return withoutBody(200);
  const refusal = jsonResponse({ error: 'Model version not ready' }, 400);
  return { ...refusal, headers: [...refusal.headers, [errorCodeField, problem.code]] };
}
