/** Management over REST. All routes are below one path, so that a proxy can block them with one rule. */
import type { HttpResponse } from '@millrace/http';
import * as z from 'zod';
import type { TrafficChange } from '../../../catalogue/traffic/traffic-policy.ts';
import type { Route } from '../../routing/route.ts';
import type { SliceQueue } from '../../slices/slice-queue.ts';
import type { ManagementConfig } from '../config.ts';
import type { ManagementOperations } from '../operations.ts';
import * as decode from './decode-request.ts';
import * as encode from './encode-response.ts';
import { type RestManagementCall, routeMaker } from './operation.ts';
import * as schemas from './schemas.ts';

export interface ManagementRouteParts {
  readonly operations: ManagementOperations;
  readonly config: ManagementConfig;
  readonly slices: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

const managementPath = '/v1/management';

const revisionHeaders = {
  [decode.ifMatchField]: z.string().describe('The expected etag; if the current one differs, the answer is a 409'),
};
const model = (rest: string): string => `${managementPath}/models/{model}${rest}`;

export function managementRoutes(parts: ManagementRouteParts): readonly Route[] {
  const { operations, config, slices, onError } = parts;
  const route = routeMaker(config, slices, onError);
  const traffic = { description: 'The traffic as it is now', schema: schemas.trafficSchema };
  const changeTraffic = async (
    { routed, parameter }: RestManagementCall<unknown>,
    change: TrafficChange,
  ): Promise<HttpResponse> => {
    const expected = decode.expectedRevisionFrom(routed.request);
    return encode.encodeTraffic(await operations.changeTraffic(parameter('model'), change, expected));
  };
  return [
    route({
      method: 'GET',
      path: `${managementPath}/contexts`,
      operationId: 'listContexts',
      summary: 'Every model version, with its state, labels and load',
      answer: { description: 'The contexts', schema: schemas.contextsSchema },
      run: () => encode.encodeContexts(operations.contexts()),
    }),
    route({
      method: 'GET',
      path: `${managementPath}/models`,
      operationId: 'listModels',
      summary: 'Every model of the repository, loaded or not',
      answer: { description: 'The index', schema: schemas.indexSchema },
      run: async () => encode.encodeIndex(await operations.index()),
    }),
    route({
      method: 'POST',
      path: model('/load'),
      operationId: 'loadModel',
      summary: 'Load a model, or reload it beside the old one; answered when it is served',
      request: { description: 'Nothing, or what to load instead', schema: schemas.loadSchema, filesIn: 'files' },
      run: async ({ body, files, parameter }) => {
        await operations.load(parameter('model'), decode.configTextFrom(body), files);
        return encode.encodeNothing();
      },
    }),
    route({
      method: 'POST',
      path: model('/unload'),
      operationId: 'unloadModel',
      summary: 'Unload a model; accepted requests are still answered',
      request: { description: 'Nothing, or what else to unload', schema: schemas.unloadSchema },
      run: async ({ body, parameter }) => {
        await operations.unload(parameter('model'), body.withDependents ?? false);
        return encode.encodeNothing();
      },
    }),
    ...([true, false] as const).map((isPinned) =>
      route({
        method: isPinned ? 'PUT' : 'DELETE',
        path: model('/versions/{version}/pin'),
        operationId: isPinned ? 'pinVersion' : 'unpinVersion',
        summary: isPinned
          ? 'Never unload this version for the memory budget'
          : 'Allow this version to be unloaded for the memory budget again',
        run: async ({ parameter }) => {
          await operations.setPinned(parameter('model'), parameter('version'), isPinned);
          return encode.encodeNothing();
        },
      }),
    ),
    route({
      method: 'GET',
      path: model('/traffic'),
      operationId: 'getTraffic',
      summary: 'The versions of the labels, and how requests without a version are distributed',
      answer: traffic,
      run: ({ parameter }) => encode.encodeTraffic(operations.traffic(parameter('model'))),
    }),
    route({
      method: 'PATCH',
      path: model('/traffic'),
      operationId: 'changeTraffic',
      summary: 'Change labels, split and shadows at once; what is absent stays',
      headers: revisionHeaders,
      request: { description: 'The change', schema: schemas.trafficChangeSchema },
      answer: traffic,
      run: (call) => changeTraffic(call, decode.trafficChangeFrom(call.body)),
    }),
    route({
      method: 'PUT',
      path: model('/labels/{label}'),
      operationId: 'setLabel',
      summary: 'Set a label to a version',
      headers: revisionHeaders,
      request: { description: 'The version', schema: schemas.labelSchema },
      answer: traffic,
      run: (call) => changeTraffic(call, { labels: new Map([[call.parameter('label'), call.body.version]]) }),
    }),
    route({
      method: 'DELETE',
      path: model('/labels/{label}'),
      operationId: 'removeLabel',
      summary: 'Remove a label',
      headers: revisionHeaders,
      answer: traffic,
      run: (call) => changeTraffic(call, { labels: new Map([[call.parameter('label'), undefined]]) }),
    }),
    route({
      method: 'PUT',
      path: model('/split'),
      operationId: 'setSplit',
      summary: 'Distribute requests that name no version over versions by weight; an empty list ends it',
      headers: revisionHeaders,
      request: { description: 'The split', schema: schemas.splitSchema },
      answer: traffic,
      run: (call) => changeTraffic(call, call.body),
    }),
    route({
      method: 'PUT',
      path: model('/shadows'),
      operationId: 'setShadows',
      summary: 'Send copies of requests to versions whose answers are never returned; an empty list ends it',
      headers: revisionHeaders,
      request: { description: 'The shadows', schema: schemas.shadowsSchema },
      answer: traffic,
      run: (call) => changeTraffic(call, call.body),
    }),
    route({
      method: 'GET',
      path: `${managementPath}/instances`,
      operationId: 'listInstances',
      summary: 'Every worker with the versions it serves, its breaker and its speed',
      answer: { description: 'The instances', schema: schemas.instancesSchema },
      run: () => encode.encodeInstances(operations.instances()),
    }),
    route({
      method: 'POST',
      path: `${managementPath}/instances/{worker}/breaker/close`,
      operationId: 'closeBreaker',
      summary: 'Close the breaker of a worker, so that it takes requests again',
      run: ({ parameter }) => {
        operations.closeBreaker(decode.workerFrom(parameter('worker')));
        return encode.encodeNothing();
      },
    }),
    route({
      method: 'GET',
      path: `${managementPath}/queues`,
      operationId: 'getQueues',
      summary: 'Requests that wait and run now',
      answer: { description: 'The queues', schema: schemas.queuesSchema },
      run: () => encode.encodeQueues(operations.queues()),
    }),
    route({
      method: 'GET',
      path: `${managementPath}/streams`,
      operationId: 'listStreams',
      summary: 'Durable streams by id, those that only lie in the journal included; `model`, `open`, `limit`, `after`',
      query: schemas.streamsQuerySchema,
      answer: { description: 'One page', schema: schemas.streamsSchema },
      run: async ({ routed }) => encode.encodeStreams(await operations.streams(decode.streamsQueryFrom(routed.query))),
    }),
    route({
      method: 'GET',
      path: `${managementPath}/streams/{stream}`,
      operationId: 'getStream',
      summary: 'One durable stream',
      answer: { description: 'The stream', schema: schemas.streamSchema },
      run: async ({ parameter }) => encode.encodeStream(await operations.stream(parameter('stream'))),
    }),
    route({
      method: 'POST',
      path: `${managementPath}/streams/{stream}/cancel`,
      operationId: 'cancelStream',
      summary: 'Cancel a durable stream; answered when its end is durable, and as it is if it has ended',
      request: { description: 'Nothing, or why', schema: schemas.streamCancelSchema },
      answer: { description: 'The stream', schema: schemas.streamSchema },
      run: async ({ body, parameter }) =>
        encode.encodeStream(await operations.cancelStream(parameter('stream'), body.reason ?? '')),
    }),
    ...['', '/{model}'].map((suffix) =>
      route({
        method: 'DELETE',
        path: `${managementPath}/cache${suffix}`,
        operationId: suffix === '' ? 'flushCache' : 'flushModelCache',
        summary: suffix === '' ? 'Remove the cached results of all models' : 'Remove the cached results of a model',
        answer: { description: 'How many', schema: schemas.flushedSchema },
        run: ({ parameter }) => encode.encodeFlushed(operations.flushCache(parameter('model'))),
      }),
    ),
  ];
}
