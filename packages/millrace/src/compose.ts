/**
 * The composition root of the server: everything is made here and in start-server.ts, started in order and stopped in reverse. It is
 * imported while models are read.
 */
import { MemoryLedger } from '@millrace/core';
import { AddressRanges, BodyPool, createRpcHandler, type HttpHandler, wireHandlerFrom } from '@millrace/http';
import type { Statistics } from '@millrace/router';
import {
  CallerRule,
  contractServices,
  createGrpcEdge,
  createRestEdge,
  createSseEdge,
  createWebSocketEdge,
  type GrpcEdge,
  type Route,
  SliceQueue,
  StreamService,
  withPageAccess,
} from '@millrace/router/edges';
import {
  type MetricsObserver,
  type MetricsRegistry,
  metricsHandler,
  type StreamGateway,
  type StreamHost,
  StreamMetrics,
  startConnectionMetrics,
  startMemoryMetrics,
  startSchedulerMetrics,
  statisticsFrom,
  systemClock,
} from '@millrace/router/internal';
import { takeDuplicateDescriptor, takeFramedReads } from '@millrace/shared-memory';
import type { Assembly } from './assemble.ts';
import type { Components } from './components.ts';
import type { Config } from './config/fields.ts';
import { exposureNoticesOf } from './exposure-notices.ts';
import type { FleetWatch } from './fleet-watch.ts';
import { closeListeners, drainListeners, type Listeners, openListeners, replaceCertificates } from './listeners.ts';
import { acceptErrorLog } from './logging/accept-error-log.ts';
import { rpcAccessLog, withAccessLog } from './logging/access-log.ts';
import { exactnessLog } from './logging/exactness-log.ts';
import { forbiddenLog } from './logging/forbidden-log.ts';
import type { Logger } from './logging/logger.ts';
import { memoryLimitsOf } from './memory-limits.ts';
import { mountManagement, type SharedManagement } from './mount-management.ts';
import { openConnectionLimiter } from './open-connection-limiter.ts';
import type { ServingFolders } from './open-serving.ts';
import { openStreams } from './open-streams.ts';
import { Readiness } from './readiness.ts';
import type { ExposureNotice, RunningServer, ServedModelStatus } from './running-server.ts';
import { ServerManagement } from './server-management.ts';
import { serverUrl } from './server-url.ts';
import { StreamRestoration } from './stream-restoration.ts';
import { earlierEndFrom } from './supervisor/earlier-end.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { version } from './version.ts';

/** What is there when the models have been read. */
export interface ComposeParts {
  readonly config: Config;
  readonly logger: Logger;
  /** The supervisor of the process, if it has one. */
  readonly supervision: Supervision | undefined;
  readonly metrics: MetricsRegistry;
  readonly observer: MetricsObserver;
  readonly watch: FleetWatch;
  readonly assembly: Assembly & ServingFolders;
}

/** Loads the models, and opens the server to its clients. */
export async function compose(components: Components, parts: ComposeParts): Promise<RunningServer> {
  const { config, logger, supervision, metrics, observer, watch, assembly } = parts;
  startSchedulerMetrics(metrics, assembly.dataPlane.inspection);
  const memory = new MemoryLedger(memoryLimitsOf(config));
  const bodies = new BodyPool({
    freeBytesMax: config.memory.freeBytesMax,
    isPoisoned: config.memory.poison,
    framedReads: takeFramedReads(),
  });
  startMemoryMetrics(metrics, memory, bodies);
  metrics.onCollect(() => assembly.library.measure());
  const readiness = new Readiness(assembly.models, config.models.strictReadiness);
  const onError = (error: unknown): void => logger.error({ error }, 'internal error while serving a request');
  const statistics = statisticsFrom(
    assembly.models,
    observer,
    () => assembly.library.contexts(),
    (name, modelVersion) => assembly.catalogue.named(name, modelVersion),
  );
  const rpc = { interceptors: config.log.requests ? [rpcAccessLog(logger, () => performance.now())] : [] };
  const slices = new SliceQueue();
  const streamMetrics = new StreamMetrics(metrics);
  const streams = openStreams({
    config,
    assembly,
    observer: streamMetrics,
    memory,
    onProbed: exactnessLog(logger),
    earlierEnd: earlierEndFrom(supervision?.restart),
    lastingFolder: assembly.lastingFolder,
    temporaryFolder: assembly.temporaryFolder,
    readings: assembly.readings,
  });
  components.add({ close: () => streams.journal.close() });
  streamMetrics.show(streams.host, streams.journal);
  const mount = mountManagement({
    management: new ServerManagement({ assembly, traffic: assembly.traffic, streams: streams.host.directory }),
    config,
    rpc,
    withLog: (handler) => withLog(handler, config, logger),
    slices,
    onError,
  });
  const trustedProxies = new AddressRanges(config.server.trustedProxies);
  const callers = new CallerRule({ header: config.server.callerHeader, trustedProxies });
  const edgeParts: EdgeParts = {
    config,
    callers,
    assembly,
    readiness,
    statistics,
    management: mount.shared,
    slices,
    onError,
  };
  const streamRoutes = createSseEdge({ gateway: streams.host, callers, slices, clock: systemClock, onError });
  const cors = config.http.corsOrigins.length === 0 ? undefined : { origins: originsFrom(config.http.corsOrigins) };
  const grpc = grpcEdge(edgeParts, streams.host);
  const webSocket = createWebSocketEdge({ gateway: streams.host, callers, slices, onError });
  const rest = restHandler(edgeParts, [...streamRoutes, ...webSocket.routes]);
  const limiter = openConnectionLimiter({
    config,
    trustedProxies,
    workers: () => assembly.fleet.workerCount + assembly.prepared.standbys,
    logger,
  });
  startConnectionMetrics(metrics, limiter);
  const streamed = streams.hasJournal ? await streamedVersionsOf(streams.host, logger) : undefined;
  // Before anyone is let in: connections may wait in the sockets of an earlier router, and their models must not seem unknown.
  assembly.library.start(streamed);
  const listeners = await openListeners({
    config,
    memory,
    bodies,
    // Called only where header fields can name the caller.
    ownerOf: callers.isByConnection
      ? undefined
      : (headers, peer) => (callers.readsHeaders(peer) ? callers.callerOf(headers, peer) : undefined),
    limiter,
    duplicateDescriptor: takeDuplicateDescriptor(),
    onAcceptError: acceptErrorLog(logger, () => performance.now()),
    onForbidden: forbiddenLog(logger, () => performance.now()),
    api: createRpcHandler(grpc.services, {
      errorFrom: (error) => grpc.errorFrom(error),
      onRefused: (call, error) => grpc.noteRefused(call, error),
      onError,
      receiveBytesMax: config.http.bodyBytesMax,
      cors,
      ...rpc,
      next: wireHandlerFrom(withLog(cors === undefined ? rest : withPageAccess(rest, cors), config, logger), onError),
    }),
    onUpgrade: webSocket.onUpgrade,
    management: mount.own?.handler,
    metrics: wireHandlerFrom(metricsHandler(metrics), onError),
    supervision,
  });
  components.add({
    drain: async () => {
      grpc.end();
      streams.host.drain();
      mount.own?.end();
      if (supervision !== undefined) await supervision.releaseListeners();
      await drainListeners(listeners);
    },
    close: () => closeListeners(listeners),
  });
  // Clients that come back are not kept waiting for the others.
  if (streams.hasJournal) {
    const restoration = new StreamRestoration({ host: streams.host, clock: systemClock, logger });
    components.add({ drain: () => restoration.close(), close: () => restoration.close() });
    restoration.start();
  }
  return new ComposedServer({
    components,
    models: assembly.models,
    watch,
    readiness,
    listeners,
    scheme: config.tls.certificateFile === '' ? 'http' : 'https',
    notices: exposureNoticesOf(config),
  });
}

/** Versions that are loaded first. A journal that cannot be read is reported when streams are taken over. */
async function streamedVersionsOf(host: StreamHost, logger: Logger): Promise<ReadonlySet<string>> {
  try {
    const versions = await host.streamedVersions();
    if (versions.size > 0) logger.info({ models: [...versions] }, 'models of open streams are loaded first');
    return versions;
  } catch {
    return new Set();
  }
}

interface EdgeParts {
  readonly config: Config;
  readonly callers: CallerRule;
  readonly assembly: Assembly;
  readonly readiness: Readiness;
  readonly statistics: Statistics;
  readonly management: SharedManagement | undefined;
  /** Divides the work on large messages of all edges into slices that take turns. */
  readonly slices: SliceQueue;
  readonly onError: (error: unknown) => void;
}

/** The parts that every edge of the Open Inference Protocol gets. */
function edgeBase({ config, callers, assembly, readiness, statistics, management, slices, onError }: EdgeParts) {
  return {
    dataPlane: assembly.dataPlane.inference,
    catalogue: assembly.catalogue,
    health: readiness,
    statistics,
    management: management?.management,
    server: { name: config.server.id, version },
    callers,
    slices,
    onError,
  };
}

function restHandler(parts: EdgeParts, streamRoutes: readonly Route[]): HttpHandler {
  const { jsonBytesMax, jsonHeadBytesMax, jsonElementsMax, bodyBytesMax, inputsMax, unpackingsMax } = parts.config.http;
  return createRestEdge({
    ...edgeBase(parts),
    routes: [...streamRoutes, ...(parts.management?.routes ?? [])],
    limits: { jsonBytesMax, jsonHeadBytesMax, jsonElementsMax, bodyBytesMax, inputsMax, unpackingsMax },
  });
}

function grpcEdge(parts: EdgeParts, streams: StreamGateway): GrpcEdge {
  const { assembly, callers, config, slices, onError } = parts;
  return createGrpcEdge({
    ...edgeBase(parts),
    streams,
    added: [
      new StreamService({ gateway: streams, callers }),
      ...contractServices({
        gateway: streams,
        dataPlane: assembly.dataPlane.inference,
        catalogue: assembly.catalogue,
        viewOf: (model, modelVersion) => assembly.models.takeModel(model, modelVersion)?.view,
        callers,
        slices,
        clock: systemClock,
        defaultContext: config.streams.defaultContext,
        onError,
      }),
      ...(parts.management?.services ?? []),
    ],
    limits: { inputsMax: config.http.inputsMax, jsonBytesMax: config.http.jsonBytesMax },
  });
}

function withLog(handler: HttpHandler, config: Config, logger: Logger): HttpHandler {
  return config.log.requests ? withAccessLog(handler, logger, () => performance.now()) : handler;
}

function originsFrom(origins: readonly string[]): '*' | readonly string[] {
  return origins.includes('*') ? '*' : origins;
}

interface ServerParts {
  readonly components: Components;
  readonly models: Assembly['models'];
  readonly watch: FleetWatch;
  readonly readiness: Readiness;
  readonly listeners: Listeners;
  readonly scheme: 'http' | 'https';
  readonly notices: readonly ExposureNotice[];
}

class ComposedServer implements RunningServer {
  readonly host: string;
  readonly httpUrl: string;
  readonly grpcUrl: string;
  readonly metricsUrl: string;
  readonly managementUrl: string | undefined;
  readonly notices: readonly ExposureNotice[];
  readonly #parts: ServerParts;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    const { http, grpc, metrics, management } = parts.listeners;
    this.host = http.host;
    this.httpUrl = serverUrl(http.host, http.port, parts.scheme);
    this.grpcUrl = serverUrl(grpc.host, grpc.port, parts.scheme);
    this.metricsUrl = `${serverUrl(metrics.host, metrics.port)}/metrics`;
    this.managementUrl = management && serverUrl(management.host, management.port, parts.scheme);
    this.notices = parts.notices;
  }

  models(): readonly ServedModelStatus[] {
    const { models, watch } = this.#parts;
    return models.statuses().map((status) => {
      const model = models.takeModel(status.name, status.version);
      return {
        ...status,
        loadMs: model === undefined ? undefined : watch.loadMsOf(model),
        inputs: model?.view.inputs ?? [],
        outputs: model?.view.outputs ?? [],
      };
    });
  }

  onModelChange(listener: () => void): () => void {
    return this.#parts.watch.onModelChange(listener);
  }

  replaceCertificates(tls: Config['tls']): void {
    replaceCertificates(this.#parts.listeners, { tls });
  }

  stopBeingReady(): void {
    this.#parts.readiness.end();
  }

  /**
   * The listeners finish their exchanges, requests that are still arriving included; then the data plane has nothing left
   * but requests that their callers have cancelled. Workers end last.
   */
  drain(): Promise<void> {
    return this.#parts.components.drain();
  }

  close(): Promise<void> {
    return this.#parts.components.close();
  }
}
