/** The composition root of the server: everything is made here, started in order and stopped in reverse. */
import { type HttpHandler, type HttpServer, serveNodeHttp } from '@millrace/http';
import { ConfigError } from '@millrace/protocol';
import {
  createRestEdge,
  type Health,
  MetricsObserver,
  MetricsRegistry,
  metricsHandler,
  scanRepository,
  startProcessMetrics,
} from '@millrace/router';
import { type Assembly, assemble } from './assemble.ts';
import type { RunningServer, ServedModel, StartServer } from './cli/running-server.ts';
import { serverUrl } from './cli/server-url.ts';
import type { Config } from './config/fields.ts';
import { FleetWatch } from './fleet-watch.ts';
import { withAccessLog } from './logging/access-log.ts';
import type { Logger } from './logging/logger.ts';
import { modelDefaultsFrom } from './model-defaults.ts';
import { version } from './version.ts';

export const startServer: StartServer = async (config, logger) => {
  const scan = await scanRepository(config.models.paths, { hasGpu: false, defaults: modelDefaultsFrom(config) });
  if (scan.problems.length > 0) throw new ConfigError(scan.problems);
  for (const { source, line, field, message } of scan.warnings) logger.warn({ source, line, field }, message);

  const metrics = new MetricsRegistry();
  const observer = new MetricsObserver(metrics, { version, node: process.version });
  const processMetrics = startProcessMetrics(metrics, Date.now() - process.uptime() * 1000);
  const watch = new FleetWatch(logger, observer);
  const assembly = assemble({
    scan,
    config,
    observer,
    listener: watch,
    onSharedMemoryUnavailable: (reason) =>
      logger.warn({ reason }, 'tensors are copied to workers through their socket'),
  });
  const readiness = new Readiness(assembly, config.models.strictReadiness);
  const rest = restHandler(config, logger, assembly, readiness);
  const http = await listen(rest, config, config.server.httpPort, logger);
  let metricsServer: HttpServer;
  try {
    metricsServer = await listen(metricsHandler(metrics), config, config.server.metricsPort, logger);
  } catch (error) {
    await http.close();
    processMetrics.stop();
    throw error;
  }
  assembly.fleet.start();
  return new ComposedServer({
    assembly,
    watch,
    readiness,
    http,
    metricsServer,
    stopMetrics: () => processMetrics.stop(),
  });
};

function restHandler(config: Config, logger: Logger, assembly: Assembly, health: Health): HttpHandler {
  const { jsonBytesMax, bodyBytesMax, inputsMax } = config.http;
  const edge = createRestEdge({
    dataPlane: assembly.dataPlane,
    catalogue: assembly.models,
    health,
    server: { name: config.server.id, version },
    limits: { jsonBytesMax, bodyBytesMax, inputsMax },
    onError: (error) => logger.error({ error }, 'a request met a defect of the server'),
  });
  return config.log.requests ? withAccessLog(edge, logger, () => performance.now()) : edge;
}

function listen(handler: HttpHandler, config: Config, port: number, logger: Logger): Promise<HttpServer> {
  const { headerSecondsMax, requestSecondsMax, keepAliveSecondsMax } = config.http;
  return serveNodeHttp(handler, {
    host: config.server.host,
    port,
    headersTimeoutMs: Math.ceil(headerSecondsMax * 1000),
    requestTimeoutMs: Math.ceil(requestSecondsMax * 1000),
    keepAliveTimeoutMs: Math.ceil(keepAliveSecondsMax * 1000),
    headerBytesMax: config.http.headerBytesMax,
    headerFieldsMax: config.http.headerFieldsMax,
    connectionsMax: config.http.connectionsMax,
    onError: (error) => logger.error({ error }, 'the listener met a defect'),
  });
}

/** Live from the start; ready once the models are, until the server is told to stop. */
class Readiness implements Health {
  readonly isLive = true;
  readonly #assembly: Assembly;
  readonly #isStrict: boolean;
  #isEnding: boolean = false;

  constructor(assembly: Assembly, isStrict: boolean) {
    this.#assembly = assembly;
    this.#isStrict = isStrict;
  }

  get isReady(): boolean {
    if (this.#isEnding) return false;
    const states = this.#assembly.models.statuses().map(({ state }) => state);
    if (this.#isStrict) return states.every((state) => state === 'ready');
    return states.includes('ready') && !states.includes('loading');
  }

  end(): void {
    this.#isEnding = true;
  }
}

interface ServerParts {
  readonly assembly: Assembly;
  readonly watch: FleetWatch;
  readonly readiness: Readiness;
  readonly http: HttpServer;
  readonly metricsServer: HttpServer;
  readonly stopMetrics: () => void;
}

class ComposedServer implements RunningServer {
  readonly httpUrl: string;
  readonly metricsUrl: string;
  readonly #parts: ServerParts;
  #closed: Promise<void> | undefined;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.httpUrl = serverUrl(parts.http.host, parts.http.port);
    this.metricsUrl = `${serverUrl(parts.metricsServer.host, parts.metricsServer.port)}/metrics`;
  }

  models(): readonly ServedModel[] {
    const { assembly, watch } = this.#parts;
    return assembly.models.statuses().map((status) => {
      const model = assembly.models.takeModel(status.name, status.version);
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

  stopBeingReady(): void {
    this.#parts.readiness.end();
  }

  /** The listener finishes its exchanges while the data plane finishes its requests; workers end after both. */
  async drain(): Promise<void> {
    const { http, assembly } = this.#parts;
    await Promise.all([http.drain(), assembly.dataPlane.drain()]);
    await assembly.fleet.stop();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { http, metricsServer, assembly, stopMetrics } = this.#parts;
    stopMetrics();
    await Promise.all([http.close(), metricsServer.close(), assembly.fleet.kill()]);
  }
}
