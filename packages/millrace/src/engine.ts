/** The embedding API: the same data plane in the caller's own process, without a socket. */
import type { HttpHandler } from '@millrace/http';
import {
  ConfigError,
  type ConfigProblem,
  cancellationFrom,
  formatConfigProblem,
  InferenceError,
  neverCancelled,
  type Tensor,
} from '@millrace/protocol';
import type { Management, ModelStatus, ModelView, TrafficChange, TrafficPolicy } from '@millrace/router';
import { createManagementEdge, createRestEdge } from '@millrace/router/edges';
import { noTrail, silentLibraryListener, silentObserver } from '@millrace/router/internal';
import type { Assembly } from './assemble.ts';
import { Components } from './components.ts';
import type { Config } from './config/fields.ts';
import { resolveConfig } from './config/resolve-config.ts';
import { type EngineOptions, modelPathsFrom } from './engine-options.ts';
import { type InferOptions, schedulingFrom } from './infer-options.ts';
import { openServing } from './open-serving.ts';
import { isReadyFor } from './readiness.ts';
import { ServerManagement } from './server-management.ts';
import { type InputValue, type OutputValue, outputValueFrom, tensorFrom } from './tensor-values.ts';
import { version } from './version.ts';

export interface InferResult {
  readonly model: string;
  readonly version: string;
  readonly id: string;
  readonly outputs: Readonly<Record<string, OutputValue>>;
}

export interface EmbeddedEngine {
  /** Rejects with an `InferenceError` whose `code` is in docs/reference/errors.md. */
  infer(model: string, inputs: Readonly<Record<string, InputValue>>, options?: InferOptions): Promise<InferResult>;
  /** The inputs and outputs of a model. Names may have a version (`name:1`) or a label (`name@stable`), here and in `infer`. */
  model(name: string, version?: string): ModelView;
  statuses(): readonly ModelStatus[];
  /** Those of the statuses that failed, with the reason, which calls of these models are rejected with too. */
  failures(): readonly ModelStatus[];
  /** Labels, split and shadows of a model. */
  traffic(model: string): TrafficPolicy;
  /** Resolves when the change is in the store and in effect. Rejects with `conflict` when the revision has changed. */
  changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy>;
  /** Shows and changes which models are in memory: loads and unloads need `control: { controlMode: 'explicit' }`. */
  readonly library: Pick<Management, 'index' | 'load' | 'unload' | 'setPinned' | 'contexts'>;
  /** Removes cached results of one model or of all; returns how many there were. */
  flushCache(model?: string): number;
  /** Everything that operators of a server may see and change. */
  readonly management: Management;
  /** The REST protocol as a function from request to response, to mount in a server of your own. */
  readonly handler: HttpHandler;
  /** Finishes what is in progress, then ends the workers. */
  close(): Promise<void>;
}

/**
 * Resolves when every model is ready or has failed: `failures()` lists the latter. Rejects with a `ConfigError` where no
 * model can be served.
 */
export async function createEngine(options: EngineOptions): Promise<EmbeddedEngine> {
  const paths = modelPathsFrom(options);
  const { cache, control, queue, shadow, store, worker } = options;
  const config = resolveConfig({
    options: {
      ...(cache && { cache }),
      ...(control && { models: control }),
      ...(queue && { queue }),
      ...(shadow && { shadow }),
      ...(store && { store }),
      ...(worker && { worker }),
    },
    cwd: process.cwd(),
  });
  return Components.start((components) => createOn(components, { config, paths, options }));
}

interface EngineParts {
  readonly config: Config;
  readonly paths: readonly string[];
  readonly options: EngineOptions;
}

async function createOn(components: Components, { config, paths, options }: EngineParts): Promise<EmbeddedEngine> {
  const unloaded: ConfigProblem[] = [];
  let isStarting: boolean = true;
  const assembly = await openServing(components, {
    paths,
    config,
    observer: silentObserver,
    listener: {
      ...silentLibraryListener,
      modelFailed: ({ view }, reason) => {
        if (isStarting) unloaded.push({ source: `${view.name}/${view.version}`, message: reason });
      },
    },
    onFolderUnavailable: () => {},
    onSharedMemoryUnavailable: () => {},
  });
  const { library, models } = assembly;
  library.start();
  await library.settled();
  isStarting = false;
  const problems = [...library.problems, ...unloaded];
  const isRefused = options.allowFailures === undefined ? isUseless(models, config) : options.allowFailures === false;
  if (isRefused && problems.length > 0) throw new ConfigError(problems);
  if (isUseless(models, config) && options.allowFailures !== true) throw new ConfigError(paths.map(noModelsIn));
  if (options.allowFailures === undefined) for (const problem of problems) warnOf(problem);
  return new AssembledEngine(components, assembly, options.serveManagement === true);
}

/** No model is served, and the repository is not read again: in the other modes models may be added later. */
function isUseless(models: Assembly['models'], config: Config): boolean {
  return config.models.controlMode === 'none' && models.statuses().every(({ state }) => state === 'failed');
}

function noModelsIn(source: string): ConfigProblem {
  const message =
    "has no models; put one at NAME/1/model.onnx, or give control: { controlMode: 'poll' } to wait for one";
  return { source, message };
}

function warnOf(problem: ConfigProblem): void {
  const message = `a model cannot be served: ${formatConfigProblem(problem)}`;
  process.emitWarning(message, { type: 'MillraceWarning', code: 'MILLRACE_MODEL_FAILED' });
}

class AssembledEngine implements EmbeddedEngine {
  readonly handler: HttpHandler;
  readonly library: EmbeddedEngine['library'];
  readonly management: Management;
  readonly #components: Components;
  readonly #assembly: Assembly;
  #closed: Promise<void> | undefined;

  constructor(components: Components, assembly: Assembly, servesManagement: boolean) {
    this.#components = components;
    this.#assembly = assembly;
    const { models, catalogue, dataPlane } = assembly;
    this.library = assembly.library;
    const engine = this;
    const health = {
      isLive: true,
      get isReady() {
        return engine.#closed === undefined && models.statuses().every(isReadyFor);
      },
    };
    const management = new ServerManagement({ assembly, traffic: assembly.traffic });
    this.management = management;
    this.handler = createRestEdge({
      dataPlane: dataPlane.inference,
      catalogue,
      health,
      server: { name: 'millrace', version },
      ...(servesManagement ? { management, routes: createManagementEdge({ management }).routes } : {}),
    });
  }

  async infer(
    model: string,
    inputs: Readonly<Record<string, InputValue>>,
    options: InferOptions = {},
  ): Promise<InferResult> {
    const { catalogue } = this.#assembly;
    const { inference } = this.#assembly.dataPlane;
    const { timeoutMs, sequence, ...conditions } = schedulingFrom(options);
    if (typeof inputs !== 'object' || inputs === null) {
      throw new InferenceError('invalid-request', `inputs is ${inputs}; give the inputs of the model by name`);
    }
    const request = inference.resolved({
      target: {
        model,
        version: options.version ?? '',
        id: options.id ?? '',
        parameters: new Map(),
        outputs: options.outputs ?? [],
        sequence,
      },
      inputs: [],
      origin: { ...conditions, deadlineAt: inference.deadlineAfter(timeoutMs), trail: noTrail },
    });
    // Inputs are converted to the datatypes of the version that will answer.
    const view = catalogue.mustFind(request.target.model, request.target.version);
    const tensors = Object.entries(inputs).map(([name, value]): Tensor => {
      const datatype = value.datatype ?? view.inputs.find((input) => input.name === name)?.datatype;
      // An input that the model does not have is refused by its name, not by its values.
      if (datatype === undefined) return { name, datatype: 'BYTES', shape: [], data: new Uint8Array() };
      return tensorFrom(name, value, datatype);
    });
    const answer = await inference.infer(
      { ...request, inputs: tensors },
      options.signal === undefined ? neverCancelled : cancellationFrom(options.signal),
    );
    try {
      const outputs = Object.fromEntries(answer.outputs.map((output) => [output.name, outputValueFrom(output)]));
      return { model: answer.model, version: answer.version, id: answer.id, outputs };
    } finally {
      answer.release();
    }
  }

  model(name: string, modelVersion = ''): ModelView {
    return this.#assembly.catalogue.mustFind(name, modelVersion);
  }

  statuses(): readonly ModelStatus[] {
    return this.#assembly.models.statuses();
  }

  failures(): readonly ModelStatus[] {
    return this.statuses().filter(({ state }) => state === 'failed');
  }

  traffic(model: string): TrafficPolicy {
    return this.#assembly.traffic.traffic(model);
  }

  changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy> {
    return this.#assembly.traffic.changeTraffic(model, change, expectedRevision);
  }

  flushCache(model?: string): number {
    return this.#assembly.cache.flush(model);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#components.drain();
    await this.#components.close();
  }
}
