/** A client of the REST interface. */

import type { TrafficPolicy } from '../../../catalogue/traffic/traffic-policy.ts';
import type {
  ContextStatus,
  IndexEntry,
  InstanceStatus,
  QueueStatus,
  StreamStatus,
} from '../../../management/management.ts';
import { type RemoteManagement, RemoteRefusal } from './remote-management.ts';

interface JsonTraffic extends Omit<TrafficPolicy, 'labels'> {
  readonly labels: Readonly<Record<string, string>>;
}

/** Unknown values are left out. */
type Absent<Whole, Names extends keyof Whole> = Omit<Whole, Names> & Partial<Pick<Whole, Names>>;
type JsonQueues = Omit<QueueStatus, 'models'> & { readonly models: Absent<QueueStatus['models'][number], 'waitMs'>[] };

interface JsonStream extends Omit<StreamStatus, 'acceptedInput' | 'ended' | 'exactness' | 'isAttached' | 'isOwned'> {
  readonly owned: boolean;
  readonly attached: boolean;
  readonly acceptedInputs: number;
  readonly exact?: boolean;
  readonly exactness?: StreamStatus['exactness'];
  readonly ended?: Omit<NonNullable<StreamStatus['ended']>, 'kind' | 'outputs'>;
}

/** `url` is that of the server, without a slash at the end. */
export function restManagement(url: string): RemoteManagement {
  const call = async <Answer>(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> => {
    const response = await fetch(`${url}/v1/management${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) {
      const { error } = JSON.parse(text) as { error: string };
      throw new RemoteRefusal(response.headers.get('millrace-error-code') ?? '', error);
    }
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  };
  const at = (model: string): string => `/models/${encodeURIComponent(model)}`;
  return {
    index: async () => (await call<{ models: IndexEntry[] }>('GET', '/models')).models,
    load: (model, { config, files } = {}) =>
      call('POST', `${at(model)}/load`, {
        ...(config === undefined ? {} : { config: JSON.parse(config) as unknown }),
        ...(files === undefined
          ? {}
          : {
              files: Object.fromEntries(
                [...files].map(([path, bytes]) => [path, Buffer.from(bytes).toString('base64')]),
              ),
            }),
      }),
    unload: (model, { isWithDependents = false } = {}) =>
      call('POST', `${at(model)}/unload`, { withDependents: isWithDependents }),
    setPinned: (model, version, isPinned) =>
      call(isPinned ? 'PUT' : 'DELETE', `${at(model)}/versions/${encodeURIComponent(version)}/pin`),
    contexts: async () => {
      type Told = Absent<ContextStatus, 'idleMs'> & { model: string; pinned: boolean; exact?: boolean };
      const { contexts } = await call<{ contexts: Told[] }>('GET', '/contexts');
      return contexts.map(({ model, pinned, exact, ...rest }) => ({
        idleMs: undefined,
        ...rest,
        areStreamsExact: exact,
        name: model,
        isPinned: pinned,
      }));
    },
    instances: async () => {
      const { instances } = await call<{ instances: Absent<InstanceStatus, 'pid' | 'rowMs' | 'priorityMax'>[] }>(
        'GET',
        '/instances',
      );
      return instances.map((one) => ({ pid: undefined, rowMs: undefined, priorityMax: undefined, ...one }));
    },
    queues: async () => {
      const { models, ...totals } = await call<JsonQueues>('GET', '/queues');
      return { ...totals, models: models.map((one) => ({ waitMs: undefined, ...one })) };
    },
    closeBreaker: (worker) => call('POST', `/instances/${worker}/breaker/close`),
    flushCache: async (model) => {
      const path = model === undefined ? '/cache' : `/cache/${encodeURIComponent(model)}`;
      return (await call<{ results: number }>('DELETE', path)).results;
    },
    streams: async ({ model, isOpenOnly, limit, after }) => {
      const query = new URLSearchParams({ open: `${isOpenOnly}`, limit: `${limit}`, after });
      if (model !== undefined) query.set('model', model);
      const { streams, next } = await call<{ streams: JsonStream[]; next?: string }>('GET', `/streams?${query}`);
      return { streams: streams.map(streamFrom), next };
    },
    stream: async (id) => streamFrom(await call('GET', `/streams/${encodeURIComponent(id)}`)),
    cancelStream: async (id, reason) =>
      streamFrom(await call('POST', `/streams/${encodeURIComponent(id)}/cancel`, { reason })),
    traffic: async (model) => trafficFrom(await call('GET', `${at(model)}/traffic`)),
    changeTraffic: async (model, { labels, split, shadows }, expectedRevision) => {
      const nulled = labels && Object.fromEntries([...labels].map(([label, version]) => [label, version ?? null]));
      const headers = expectedRevision === undefined ? {} : { 'if-match': `"${expectedRevision}"` };
      return trafficFrom(await call('PATCH', `${at(model)}/traffic`, { labels: nulled, split, shadows }, headers));
    },
  };
}

function streamFrom({
  owned,
  attached,
  acceptedInputs,
  exact: _,
  exactness,
  ended,
  ...rest
}: JsonStream): StreamStatus {
  return {
    ...rest,
    isOwned: owned,
    isAttached: attached,
    acceptedInput: acceptedInputs,
    exactness,
    ended: ended && { kind: 'ended', outputs: rest.outputs, ...ended },
  };
}

function trafficFrom({ labels, ...rest }: JsonTraffic): TrafficPolicy {
  return { ...rest, labels: new Map(Object.entries(labels)) };
}
