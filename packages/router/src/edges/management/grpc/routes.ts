/** Management over gRPC, gRPC-Web and Connect. */
import { create } from '@bufbuild/protobuf';
import { RpcError, type RpcService, type StreamCall, serverStream, unary } from '@millrace/http';
import * as v1 from '../../../proto/generated/millrace/v1/management_pb.ts';
import { loadCodecOf } from '../../grpc/load-codec.ts';
import { codecOf } from '../../grpc/message-codec.ts';
import type { ManagementOperations } from '../operations.ts';
import { expectedRevisionFromMessage, trafficChangeFromMessage } from './decode-request.ts';
import * as encode from './encode-response.ts';

export class ManagementService {
  readonly #operations: ManagementOperations;
  readonly #watches = new Set<StreamCall<v1.Queues>>();

  constructor(operations: ManagementOperations) {
    this.#operations = operations;
  }

  get service(): RpcService {
    const operations = this.#operations;
    const traffic = codecOf(v1.TrafficSchema);
    const queues = codecOf(v1.QueuesSchema);
    const stream = codecOf(v1.StreamStatusSchema);
    return {
      name: v1.Management.typeName,
      methods: [
        unary({
          name: 'ListContexts',
          isIdempotent: true,
          request: codecOf(v1.ListContextsRequestSchema),
          response: codecOf(v1.ListContextsResponseSchema),
          handle: () => encode.contextsMessage(operations.contexts()),
        }),
        unary({
          name: 'GetTraffic',
          isIdempotent: true,
          request: codecOf(v1.GetTrafficRequestSchema),
          response: traffic,
          handle: ({ model }) => encode.trafficMessage(operations.traffic(model)),
        }),
        unary({
          name: 'ChangeTraffic',
          request: codecOf(v1.ChangeTrafficRequestSchema, 256 * 1024),
          response: traffic,
          handle: async (request) => {
            const expected = expectedRevisionFromMessage(request);
            const changed = await operations.changeTraffic(request.model, trafficChangeFromMessage(request), expected);
            return encode.trafficMessage(changed);
          },
        }),
        unary({
          name: 'RepositoryIndex',
          isIdempotent: true,
          request: codecOf(v1.RepositoryIndexRequestSchema),
          response: codecOf(v1.RepositoryIndexResponseSchema),
          handle: async () => encode.indexMessage(await operations.index()),
        }),
        unary({
          name: 'RepositoryLoad',
          request: loadCodecOf(v1.RepositoryLoadRequestSchema),
          response: codecOf(v1.RepositoryLoadResponseSchema),
          handle: async ({ model, config, files }) => {
            await operations.load(model, config, new Map(Object.entries(files)));
            return create(v1.RepositoryLoadResponseSchema);
          },
        }),
        unary({
          name: 'RepositoryUnload',
          request: codecOf(v1.RepositoryUnloadRequestSchema),
          response: codecOf(v1.RepositoryUnloadResponseSchema),
          handle: async ({ model, withDependents }) => {
            await operations.unload(model, withDependents);
            return create(v1.RepositoryUnloadResponseSchema);
          },
        }),
        unary({
          name: 'SetPinned',
          request: codecOf(v1.SetPinnedRequestSchema),
          response: codecOf(v1.SetPinnedResponseSchema),
          handle: async ({ model, version, pinned }) => {
            await operations.setPinned(model, version, pinned);
            return create(v1.SetPinnedResponseSchema);
          },
        }),
        unary({
          name: 'ListInstances',
          isIdempotent: true,
          request: codecOf(v1.ListInstancesRequestSchema),
          response: codecOf(v1.ListInstancesResponseSchema),
          handle: () => encode.instancesMessage(operations.instances()),
        }),
        unary({
          name: 'CloseBreaker',
          request: codecOf(v1.CloseBreakerRequestSchema),
          response: codecOf(v1.CloseBreakerResponseSchema),
          handle: ({ worker }) => {
            operations.closeBreaker(worker);
            return create(v1.CloseBreakerResponseSchema);
          },
        }),
        unary({
          name: 'GetQueues',
          isIdempotent: true,
          request: codecOf(v1.GetQueuesRequestSchema),
          response: queues,
          handle: () => encode.queuesMessage(operations.queues()),
        }),
        serverStream({
          name: 'WatchQueues',
          request: codecOf(v1.WatchQueuesRequestSchema),
          response: queues,
          handle: ({ intervalMs }, call) => this.#watch(intervalMs, call),
        }),
        unary({
          name: 'ListStreams',
          isIdempotent: true,
          request: codecOf(v1.ListStreamsRequestSchema),
          response: codecOf(v1.ListStreamsResponseSchema),
          handle: async ({ open, ...asked }) =>
            encode.streamsMessage(await operations.streams({ ...asked, isOpenOnly: open })),
        }),
        unary({
          name: 'GetStream',
          isIdempotent: true,
          request: codecOf(v1.GetStreamRequestSchema),
          response: stream,
          handle: async ({ id }) => encode.streamMessage(await operations.stream(id)),
        }),
        unary({
          name: 'CancelStream',
          request: codecOf(v1.CancelStreamRequestSchema),
          response: stream,
          handle: async ({ id, reason }) => encode.streamMessage(await operations.cancelStream(id, reason)),
        }),
        unary({
          name: 'FlushCache',
          request: codecOf(v1.FlushCacheRequestSchema),
          response: codecOf(v1.FlushCacheResponseSchema),
          handle: ({ model }) => create(v1.FlushCacheResponseSchema, { results: BigInt(operations.flushCache(model)) }),
        }),
      ],
    };
  }

  /** Ends every watch, so that a server that stops does not wait for watchers. */
  end(): void {
    for (const call of this.#watches) call.fail(new RpcError('unavailable', 'the server is shutting down'));
  }

  #watch(intervalMs: number, call: StreamCall<v1.Queues>): undefined {
    // A slow watcher misses states, and gets the current one once there is room.
    let hasRoom = true;
    const stop = this.#operations.watchQueues(intervalMs, {
      tell: (queues) => {
        if (hasRoom) hasRoom = call.send(encode.queuesMessage(queues));
      },
      fail: (error) => call.fail(error),
    });
    call.onRoom = () => {
      hasRoom = true;
    };
    this.#watches.add(call);
    call.whenEnded(() => {
      stop();
      this.#watches.delete(call);
    });
    // Nothing else ends a watch whose caller has disconnected.
    call.signal.onCancel(() => call.end());
    return undefined;
  }
}
