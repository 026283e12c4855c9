/** Triton's model repository extension over REST. */
import type { HttpResponse } from '@millrace/http';
import { InferenceError, type JsonValue } from '@millrace/protocol';
import type { IndexEntry, Management } from '../../management/management.ts';
import type { LoadBody } from '../repository/read-load-body.ts';
import { unloadIfKnown } from '../repository/unload-if-known.ts';
import { encodeError, errorSchema, withoutBody } from '../routing/encode-error.ts';
import { jsonContent, type Route, type RoutedRequest } from '../routing/route.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { RestConfig } from './config.ts';
import { booleanMember, fileParameters, parametersOf, takeOverrides } from './decode-repository-request.ts';
import { jsonResponse } from './encode-model.ts';
import { LoadBodyReader } from './load-body-reader.ts';
import {
  indexRequestSchema,
  repositoryIndexSchema,
  repositoryLoadSchema,
  repositoryUnloadSchema,
} from './repository-schemas.ts';

export interface RepositoryDependencies {
  readonly management: Management;
  readonly config: RestConfig;
  readonly slices: SliceQueue;
  readonly onError: (error: unknown) => void;
}

const refusals = {
  400: { description: 'The request is malformed, or the model cannot be loaded', content: jsonContent(errorSchema) },
  503: { description: 'The server is not in a mode that allows it', content: jsonContent(errorSchema) },
};

/** Also for a repository by name, which is refused: all folders form one repository without a name. */
export function repositoryRoutes(dependencies: RepositoryDependencies): readonly Route[] {
  const { management, config, slices, onError } = dependencies;
  const bodies = new LoadBodyReader(config, slices);
  const operation =
    (run: (load: LoadBody, model: string) => Promise<HttpResponse>) =>
    async ({ request, parameters }: RoutedRequest): Promise<HttpResponse> => {
      try {
        if (parameters.has('repository')) {
          throw new InferenceError('unsupported', "'repository_name' specification is not supported");
        }
        const load = await bodies.read(request, config.bodyBytesMax, fileParameters);
        return await run(load, parameters.get('model') ?? '');
      } catch (error) {
        return encodeError(error, { retryAfterSeconds: config.retryAfterSeconds, onError });
      }
    };
  const routes: Omit<Route, 'method'>[] = [
    {
      path: '/index',
      operationId: 'repositoryIndex',
      summary: 'Every model of the repository, loaded or not',
      request: {
        description: 'Nothing, or whether only ready models are wanted',
        content: jsonContent(indexRequestSchema),
      },
      responses: { 200: { description: 'The index', content: jsonContent(repositoryIndexSchema) }, 400: refusals[400] },
      handler: operation(async ({ body }) => {
        const isReadyOnly = booleanMember(body, 'ready');
        const entries = await management.index();
        return jsonResponse(entries.filter(({ state }) => !isReadyOnly || state === 'READY').map(indexEntry));
      }),
    },
    {
      path: '/models/{model}/load',
      operationId: 'repositoryModelLoad',
      summary: 'Load a model, or reload it; answered when it is served',
      request: {
        description: 'Nothing, or what to load instead of the repository’s',
        content: jsonContent(repositoryLoadSchema),
      },
      responses: { 200: { description: 'It is served' }, ...refusals },
      handler: operation(async ({ body, files }, model) => {
        await management.load(model, takeOverrides(parametersOf(body), files));
        return withoutBody(200);
      }),
    },
    {
      path: '/models/{model}/unload',
      operationId: 'repositoryModelUnload',
      summary: 'Unload a model; accepted requests are still answered',
      request: {
        description: 'Nothing, or whether to unload its dependents too',
        content: jsonContent(repositoryUnloadSchema),
      },
      responses: { 200: { description: 'It is no longer served, or never was' }, ...refusals },
      handler: operation(async ({ body }, model) => {
        const parameters = parametersOf(body);
        const isWithDependents = booleanMember(parameters, 'unload_dependents');
        await unloadIfKnown(management, model, isWithDependents);
        return withoutBody(200);
      }),
    },
  ];
  return routes.flatMap((route): Route[] => [
    { ...route, method: 'POST', path: `/v2/repository${route.path}` },
    {
      ...route,
      method: 'POST',
      path: `/v2/repository/{repository}${route.path}`,
      operationId: `${route.operationId}ByName`,
      summary: 'Refused: repositories have no names here',
      responses: { 501: { description: 'Not supported', content: jsonContent(errorSchema) } },
    },
  ]);
}

/** Unknown values are left out, as in Triton. */
function indexEntry({ name, version, state, reason }: IndexEntry): JsonValue {
  return {
    name,
    ...(version === undefined ? {} : { version }),
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined || reason === '' ? {} : { reason }),
  };
}
