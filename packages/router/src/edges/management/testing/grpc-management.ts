/** A client of the gRPC interface, over Connect with binary protobuf. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { EndedFrame, ErrorCode } from '@millrace/protocol';
import type { ModelState } from '../../../catalogue/catalogue.ts';
import type { BreakerState, IndexEntry, StreamStatus } from '../../../management/management.ts';
import { ErrorInfoSchema } from '../../../proto/generated/google/rpc/error_details_pb.ts';
import * as v1 from '../../../proto/generated/millrace/v1/management_pb.ts';
import { type RemoteManagement, RemoteRefusal } from './remote-management.ts';

const states: Readonly<Record<number, ModelState>> = {
  1: 'loading',
  2: 'ready',
  3: 'unloading',
  4: 'failed',
  5: 'evicted',
};
const breakers: Readonly<Record<number, BreakerState>> = { 1: 'closed', 2: 'open', 3: 'half-open' };

export function grpcManagement(url: string): RemoteManagement {
  const call = async <I extends DescMessage, O extends DescMessage>(
    method: string,
    [input, message]: readonly [I, MessageInitShape<I>],
    output: O,
  ): Promise<MessageShape<O>> => {
    const response = await fetch(`${url}/millrace.v1.Management/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto' },
      body: new Uint8Array(toBinary(input, create(input, message))),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.ok) return fromBinary(output, bytes);
    throw refusalFrom(new TextDecoder().decode(bytes));
  };
  const traffic = ({ labels, split, shadows, revision }: v1.Traffic) => ({
    labels: new Map(Object.entries(labels)),
    split: split.map(({ version, weight }) => ({ version, weight })),
    shadows: shadows.map(({ version, percent }) => ({ version, percent })),
    revision: Number(revision),
  });
  return {
    index: async () => {
      const { models } = await call(
        'RepositoryIndex',
        [v1.RepositoryIndexRequestSchema, {}],
        v1.RepositoryIndexResponseSchema,
      );
      return models.map(
        ({ name, version, state, reason }): IndexEntry => ({
          name,
          ...(version === '' ? {} : { version }),
          ...(state === '' ? {} : { state: state as NonNullable<IndexEntry['state']> }),
          ...(reason === '' ? {} : { reason }),
        }),
      );
    },
    load: async (model, { config, files } = {}) => {
      const bytes = Object.fromEntries([...(files ?? [])].map(([path, one]) => [path, new Uint8Array(one)]));
      const message = { model, files: bytes, ...(config === undefined ? {} : { config }) };
      await call('RepositoryLoad', [v1.RepositoryLoadRequestSchema, message], v1.RepositoryLoadResponseSchema);
    },
    unload: async (model, { isWithDependents = false } = {}) => {
      const message = { model, withDependents: isWithDependents };
      await call('RepositoryUnload', [v1.RepositoryUnloadRequestSchema, message], v1.RepositoryUnloadResponseSchema);
    },
    setPinned: async (model, version, isPinned) => {
      const message = { model, version, pinned: isPinned };
      await call('SetPinned', [v1.SetPinnedRequestSchema, message], v1.SetPinnedResponseSchema);
    },
    contexts: async () => {
      const { contexts } = await call(
        'ListContexts',
        [v1.ListContextsRequestSchema, {}],
        v1.ListContextsResponseSchema,
      );
      return contexts.map(({ $typeName: _, model, pinned, state, residentBytes, exact, ...rest }) => ({
        idleMs: undefined,
        ...rest,
        areStreamsExact: exact,
        name: model,
        isPinned: pinned,
        state: states[state] as ModelState,
        residentBytes: Number(residentBytes),
      }));
    },
    instances: async () => {
      const { instances } = await call(
        'ListInstances',
        [v1.ListInstancesRequestSchema, {}],
        v1.ListInstancesResponseSchema,
      );
      return instances.map(({ $typeName: _, breaker, ...rest }) => ({
        pid: undefined,
        rowMs: undefined,
        priorityMax: undefined,
        ...rest,
        breaker: breakers[breaker] as BreakerState,
      }));
    },
    queues: async () => {
      const queues = await call('GetQueues', [v1.GetQueuesRequestSchema, {}], v1.QueuesSchema);
      return {
        waitingRequests: queues.waitingRequests,
        waitingBytes: Number(queues.waitingBytes),
        runningRequests: queues.runningRequests,
        models: queues.models.map(({ $typeName: _, waitingBytes, ...rest }) => ({
          waitMs: undefined,
          ...rest,
          waitingBytes: Number(waitingBytes),
        })),
      };
    },
    closeBreaker: async (worker) => {
      await call('CloseBreaker', [v1.CloseBreakerRequestSchema, { worker }], v1.CloseBreakerResponseSchema);
    },
    flushCache: async (model = '') => {
      const { results } = await call(
        'FlushCache',
        [v1.FlushCacheRequestSchema, { model }],
        v1.FlushCacheResponseSchema,
      );
      return Number(results);
    },
    streams: async ({ model = '', isOpenOnly, limit, after }) => {
      const message = { model, open: isOpenOnly, limit, after };
      const { streams, next } = await call(
        'ListStreams',
        [v1.ListStreamsRequestSchema, message],
        v1.ListStreamsResponseSchema,
      );
      return { streams: streams.map(streamFrom), next: next === '' ? undefined : next };
    },
    stream: async (id) =>
      streamFrom(await call('GetStream', [v1.GetStreamRequestSchema, { id }], v1.StreamStatusSchema)),
    cancelStream: async (id, reason) =>
      streamFrom(await call('CancelStream', [v1.CancelStreamRequestSchema, { id, reason }], v1.StreamStatusSchema)),
    traffic: async (model) =>
      traffic(await call('GetTraffic', [v1.GetTrafficRequestSchema, { model }], v1.TrafficSchema)),
    changeTraffic: async (model, change, expectedRevision) => {
      const labels = [...(change.labels ?? [])];
      const message: MessageInitShape<typeof v1.ChangeTrafficRequestSchema> = {
        model,
        labels: Object.fromEntries(
          labels.flatMap(([label, version]) => (version === undefined ? [] : [[label, version]])),
        ),
        removedLabels: labels.flatMap(([label, version]) => (version === undefined ? [label] : [])),
        ...(change.split === undefined ? {} : { split: { versions: [...change.split] } }),
        ...(change.shadows === undefined ? {} : { shadows: { versions: [...change.shadows] } }),
        ...(expectedRevision === undefined ? {} : { expectedRevision: BigInt(expectedRevision) }),
      };
      return traffic(await call('ChangeTraffic', [v1.ChangeTrafficRequestSchema, message], v1.TrafficSchema));
    },
  };
}

function streamFrom(message: v1.StreamStatus): StreamStatus {
  const { $typeName: _, ended, owned, attached, acceptedInputs, exactness, exact: _exact, ...rest } = message;
  const outputs = Number(rest.outputs);
  return {
    ...rest,
    epoch: Number(rest.epoch),
    isOwned: owned,
    isAttached: attached,
    openedAtMs: Number(rest.openedAtMs),
    expiresAtMs: Number(rest.expiresAtMs),
    acceptedInput: Number(acceptedInputs),
    outputs,
    journalBytes: Number(rest.journalBytes),
    exactness: exactness === '' ? undefined : (exactness as StreamStatus['exactness']),
    ended: ended && {
      kind: 'ended',
      outcome: ended.outcome as EndedFrame['outcome'],
      ...(ended.code === '' ? {} : { code: ended.code as ErrorCode }),
      message: ended.message,
      outputs,
    },
  };
}

/** The catalogue's code is the reason of the error's `ErrorInfo`. */
function refusalFrom(text: string): RemoteRefusal {
  const { message = '', details = [] } = JSON.parse(text) as {
    message?: string;
    details?: readonly { readonly type: string; readonly value: string }[];
  };
  const info = details.find(({ type }) => type === ErrorInfoSchema.typeName);
  const reason = info === undefined ? '' : fromBinary(ErrorInfoSchema, Buffer.from(info.value, 'base64')).reason;
  return new RemoteRefusal(reason.toLowerCase().replaceAll('_', '-'), message);
}
