/** What an operator sees and changes of a running server. Every method is one call of its REST management API. */
import type { JsonObject } from '@millrace/protocol';
import type { ClientCallOptions } from '../client.ts';
import { base64From } from '../frames/base64.ts';
import type {
  ManagedContext,
  ManagedInstance,
  ManagedModel,
  ManagedQueues,
  ManagedStream,
  ManagedStreams,
  ModelTraffic,
  ModelTrafficChange,
  VersionShadow,
  VersionWeight,
} from './management-answers.ts';
import { type ManagedServerOptions, ManagementCalls, type ManagementRequest } from './management-calls.ts';

export interface LoadOptions extends ClientCallOptions {
  /** The whole configuration in its JSON form, instead of the repository's. */
  readonly config?: JsonObject;
  /** By path below the model's folder, like `1/model.onnx`; instead of all in the repository, and only with `config`. */
  readonly files?: Readonly<Record<string, Uint8Array | Blob>>;
}

export interface UnloadOptions extends ClientCallOptions {
  /** Also unload the models of its steps. */
  readonly withDependents?: boolean;
}

export interface TrafficOptions extends ClientCallOptions {
  /** Refused as `conflict`, and nothing changed, when the revision is another by now. */
  readonly ifRevision?: number;
}

export interface StreamListOptions extends ClientCallOptions {
  /** Only streams of this model. */
  readonly model?: string;
  /** Only streams that have not ended. */
  readonly open?: boolean;
  /** Streams of the page at most; 100 unless given. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** `createManagement('http://localhost:8000')`: the port where management is served, which may be one of its own. */
export function createManagement(url: string | URL, options: ManagedServerOptions = {}): ManagedServer {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') {
    throw new TypeError(`the endpoint ${String(url)} is not a URL such as http://localhost:8000`);
  }
  return new ManagedServer(new ManagementCalls(parsed, options));
}

/** `createManagement` makes one. */
export class ManagedServer {
  readonly #calls: ManagementCalls;

  constructor(calls: ManagementCalls) {
    this.#calls = calls;
  }

  /** Every model version, with its state, labels and load. */
  async contexts(options: ClientCallOptions = {}): Promise<readonly ManagedContext[]> {
    return (await this.#get<{ contexts: readonly ManagedContext[] }>('/contexts', options)).contexts;
  }

  /** Every model of the repository, loaded or not. */
  async models(options: ClientCallOptions = {}): Promise<readonly ManagedModel[]> {
    return (await this.#get<{ models: readonly ManagedModel[] }>('/models', options)).models;
  }

  /** Loads a model, or reloads it beside the old one; resolves when it is served. */
  async load(model: string, { config, files, ...options }: LoadOptions = {}): Promise<void> {
    const encoded = files && (await base64Files(files));
    await this.#send('POST', `${at(model)}/load`, { config, files: encoded }, options);
  }

  /** Unloads a model; accepted requests are still answered. */
  async unload(model: string, { withDependents, ...options }: UnloadOptions = {}): Promise<void> {
    await this.#send('POST', `${at(model)}/unload`, { withDependents }, options);
  }

  /** Never unload this version for the memory budget. */
  async pin(model: string, version: string, options: ClientCallOptions = {}): Promise<void> {
    await this.#send('PUT', pinOf(model, version), undefined, options);
  }

  async unpin(model: string, version: string, options: ClientCallOptions = {}): Promise<void> {
    await this.#send('DELETE', pinOf(model, version), undefined, options);
  }

  /** The versions of the labels, and how requests without a version are distributed. */
  traffic(model: string, options: ClientCallOptions = {}): Promise<ModelTraffic> {
    return this.#get(`${at(model)}/traffic`, options);
  }

  /** Changes labels, split and shadows at once; what is absent stays. */
  changeTraffic(model: string, change: ModelTrafficChange, options: TrafficOptions = {}): Promise<ModelTraffic> {
    return this.#send('PATCH', `${at(model)}/traffic`, change, options);
  }

  setLabel(model: string, label: string, version: string, options: TrafficOptions = {}): Promise<ModelTraffic> {
    return this.#send('PUT', labelOf(model, label), { version }, options);
  }

  removeLabel(model: string, label: string, options: TrafficOptions = {}): Promise<ModelTraffic> {
    return this.#send('DELETE', labelOf(model, label), undefined, options);
  }

  /** Distributes requests that name no version over versions by weight; an empty list ends it. */
  setSplit(model: string, split: readonly VersionWeight[], options: TrafficOptions = {}): Promise<ModelTraffic> {
    return this.#send('PUT', `${at(model)}/split`, { split }, options);
  }

  /** Sends copies of requests to versions whose answers are never returned; an empty list ends it. */
  setShadows(model: string, shadows: readonly VersionShadow[], options: TrafficOptions = {}): Promise<ModelTraffic> {
    return this.#send('PUT', `${at(model)}/shadows`, { shadows }, options);
  }

  /** Every worker with the versions it serves, its breaker and its speed. */
  async instances(options: ClientCallOptions = {}): Promise<readonly ManagedInstance[]> {
    return (await this.#get<{ instances: readonly ManagedInstance[] }>('/instances', options)).instances;
  }

  /** Closes the breaker of a worker, so that it takes requests again. */
  async closeBreaker(worker: number, options: ClientCallOptions = {}): Promise<void> {
    await this.#send('POST', `/instances/${worker}/breaker/close`, undefined, options);
  }

  /** Requests that wait and run now. */
  queues(options: ClientCallOptions = {}): Promise<ManagedQueues> {
    return this.#get('/queues', options);
  }

  /** Durable streams by id, page by page, those that only lie in the journal included. */
  streams({ model, open, limit, after, ...options }: StreamListOptions = {}): Promise<ManagedStreams> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ model, open, limit, after })) {
      if (value !== undefined) query.set(name, String(value));
    }
    return this.#get(`/streams${query.size === 0 ? '' : `?${query}`}`, options);
  }

  stream(id: string, options: ClientCallOptions = {}): Promise<ManagedStream> {
    return this.#get(`/streams/${encodeURIComponent(id)}`, options);
  }

  /** Resolves when its end is durable; a stream that has ended stays as it is. The client of the stream sees the reason. */
  cancelStream(id: string, reason?: string, options: ClientCallOptions = {}): Promise<ManagedStream> {
    return this.#send('POST', `/streams/${encodeURIComponent(id)}/cancel`, { reason }, options);
  }

  /** Removes the cached results of a model, or of all; how many there were. */
  async flushCache(model?: string, options: ClientCallOptions = {}): Promise<number> {
    const path = model === undefined ? '/cache' : `/cache/${encodeURIComponent(model)}`;
    return (await this.#send<{ results: number }>('DELETE', path, undefined, options)).results;
  }

  #get<Answer>(path: string, options: ClientCallOptions): Promise<Answer> {
    return this.#calls.run({ method: 'GET', path }, options);
  }

  #send<Answer>(
    method: ManagementRequest['method'],
    path: string,
    body: unknown,
    options: TrafficOptions,
  ): Promise<Answer> {
    return this.#calls.run({ method, path, body, ifRevision: options.ifRevision }, options);
  }
}

const at = (model: string): string => `/models/${encodeURIComponent(model)}`;
const pinOf = (model: string, version: string): string => `${at(model)}/versions/${encodeURIComponent(version)}/pin`;
const labelOf = (model: string, label: string): string => `${at(model)}/labels/${encodeURIComponent(label)}`;

async function base64Files(files: Readonly<Record<string, Uint8Array | Blob>>): Promise<Record<string, string>> {
  const entries = Object.entries(files).map(async ([path, file]) => {
    const bytes = file instanceof Blob ? new Uint8Array(await file.arrayBuffer()) : file;
    return [path, base64From(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}
