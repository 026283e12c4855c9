/** Triton's model repository extension over REST. */
import type { HttpRequest, HttpResponse } from '@millrace/http';
import { InferenceError, type JsonObject, type JsonValue, quote } from '@millrace/protocol';
import { z } from 'zod';
import type { IndexEntry, LoadOverrides, Management } from '../../management/management.ts';
import { loadOverridesFrom } from '../repository/load-overrides.ts';
import { type FilesOfBody, type LoadBody, readLoadBody } from '../repository/read-load-body.ts';
import { unloadIfKnown } from '../repository/unload-if-known.ts';
import type { Route, RoutedRequest } from '../routing/route.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import { TurnGate } from '../slices/turn-gate.ts';
import type { RestConfig } from './config.ts';
import { requestPackingFrom } from './decompress.ts';
import { encodeError, withoutBody } from './encode-error.ts';
import { jsonResponse } from './encode-model.ts';
import { readBody } from './read-body.ts';
import { errorSchema } from './schemas.ts';

export interface RepositoryDependencies {
  readonly management: Management;
  readonly config: RestConfig;
  readonly slices: SliceQueue;
  readonly onError: (error: unknown) => void;
}

const json = (schema: z.ZodType) => ({ 'application/json': schema });
const indexSchema = z
  .array(
    z.object({
      name: z.string(),
      version: z.string().optional(),
      state: z.enum(['UNKNOWN', 'READY', 'UNAVAILABLE', 'LOADING', 'UNLOADING']).optional(),
      reason: z.string().optional(),
    }),
  )
  .meta({ id: 'RepositoryIndex' });
const loadSchema = z.object({
  parameters: z
    .object({ config: z.string().describe('The whole configuration as JSON').optional() })
    .catchall(z.string().describe('Named file:PATH, a file of the model in base64'))
    .optional(),
});
const unloadSchema = z.object({ parameters: z.object({ unload_dependents: z.boolean().optional() }).optional() });
const refusals = {
  400: { description: 'The request is malformed, or the model cannot be loaded', content: json(errorSchema) },
  503: { description: 'The server is not in a mode that allows it', content: json(errorSchema) },
};

/** Also for a repository by name, which is refused: there is one, whatever its folders. */
export function repositoryRoutes(dependencies: RepositoryDependencies): readonly Route[] {
  const { management, config, slices, onError } = dependencies;
  const { bodyBytesMax, zlibSyncBytesMax, unpackingsMax } = config;
  const unpackingParts = { zlibSyncBytesMax, gate: new TurnGate(unpackingsMax), slices };
  const operation =
    (run: (load: LoadBody, model: string) => Promise<HttpResponse>) =>
    async ({ request, parameters }: RoutedRequest): Promise<HttpResponse> => {
      try {
        if (parameters.has('repository')) {
          throw new InferenceError('unsupported', "'repository_name' specification is not supported");
        }
        const { peer, signal } = request;
        const packing = requestPackingFrom(contentEncodingOf(request));
        const unpacking =
          packing && ({ packing, isJson: false, bytesMax: bodyBytesMax, owner: peer.address, signal } as const);
        const body = await readBody(request, bodyBytesMax, unpacking, unpackingParts);
        const work = readLoadBody(body, fileParameters, (bytes) => request.memory.hold(bytes));
        return await run(await slices.run(work, peer.address, signal), parameters.get('model') ?? '');
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
        content: json(z.object({ ready: z.boolean().optional() })),
      },
      responses: { 200: { description: 'The index', content: json(indexSchema) }, 400: refusals[400] },
      handler: operation(async ({ body }) => {
        const isReadyOnly = takeBoolean(body, 'ready');
        const entries = await management.index();
        return jsonResponse(entries.filter(({ state }) => !isReadyOnly || state === 'READY').map(indexEntry));
      }),
    },
    {
      path: '/models/{model}/load',
      operationId: 'repositoryModelLoad',
      summary: 'Load a model, or load it anew; answered when it is served',
      request: { description: 'Nothing, or what to load instead of the repository’s', content: json(loadSchema) },
      responses: { 200: { description: 'It is served' }, ...refusals },
      handler: operation(async ({ body, files }, model) => {
        await management.load(model, takeOverrides(parametersOf(body), files));
        return withoutBody(200);
      }),
    },
    {
      path: '/models/{model}/unload',
      operationId: 'repositoryModelUnload',
      summary: 'Unload a model; what was accepted is still answered',
      request: { description: 'Nothing, or whether its parts go too', content: json(unloadSchema) },
      responses: { 200: { description: 'It is not served any more, or never was' }, ...refusals },
      handler: operation(async ({ body }, model) => {
        const parameters = parametersOf(body);
        const isWithDependents = takeBoolean(parameters, 'unload_dependents');
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
      responses: { 501: { description: 'Not supported', content: json(errorSchema) } },
    },
  ]);
}

function contentEncodingOf(request: HttpRequest): string | undefined {
  const values = request.headers.getAll('content-encoding');
  return values.length > 1 ? values.join(', ') : values[0];
}

const filePrefix = 'file:';
const fileParameters: FilesOfBody = { member: 'parameters', isFile: (key) => key.startsWith(filePrefix) };

function parametersOf({ parameters }: JsonObject): JsonObject {
  if (parameters === undefined) return {};
  if (isObject(parameters)) return parameters;
  throw invalid("'parameters' must be an object");
}

function takeBoolean(object: JsonObject, name: string): boolean {
  const value = object[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw invalid(`'${name}' must be true or false`);
}

function takeOverrides(parameters: JsonObject, contents: ReadonlyMap<string, Uint8Array>): LoadOverrides | undefined {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, value] of Object.entries(parameters)) {
    const isFile = name.startsWith(filePrefix);
    if (!isFile && name !== 'config') {
      throw invalid(`unrecognized load parameter ${quote(name)}. There are config and file:PATH`);
    }
    if (typeof value !== 'string') throw invalid(`load parameter ${quote(name)} must be a string`);
    if (isFile) files.set(name.slice(filePrefix.length), contents.get(name) as Uint8Array);
    else config = value;
  }
  return loadOverridesFrom(config, files);
}

/** What is not known is left out, as Triton leaves it out. */
function indexEntry({ name, version, state, reason }: IndexEntry): JsonValue {
  return {
    name,
    ...(version === undefined ? {} : { version }),
    ...(state === undefined ? {} : { state }),
    ...(reason === undefined || reason === '' ? {} : { reason }),
  };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
