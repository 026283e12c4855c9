/** The ports of the server. The first two serve the same: gRPC has one of its own because its clients expect it. */
import { type HttpServer, type HttpServerOptions, serveWire, type WireHandler } from '@millrace/http';
import type { Config } from './config/fields.ts';

export interface Listeners {
  readonly http: HttpServer;
  readonly grpc: HttpServer;
  readonly metrics: HttpServer;
}

export interface ListenerParts {
  readonly config: Config;
  readonly api: WireHandler;
  readonly metrics: WireHandler;
}

/** Opens all of them, or none. */
export async function openListeners({ config, api, metrics }: ListenerParts): Promise<Listeners> {
  const { httpPort, grpcPort, metricsPort } = config.server;
  const open: HttpServer[] = [];
  const listen = async (handler: WireHandler, port: number): Promise<HttpServer> => {
    const server = await serveWire(handler, { ...optionsFrom(config), port });
    open.push(server);
    return server;
  };
  try {
    return {
      http: await listen(api, httpPort),
      grpc: await listen(api, grpcPort),
      metrics: await listen(metrics, metricsPort),
    };
  } catch (error) {
    for (const server of open) await server.close();
    throw error;
  }
}

function optionsFrom({ server, http }: Config): HttpServerOptions {
  return {
    host: server.host,
    headMsMax: millisecondsFrom(http.headerSecondsMax),
    bodyStallMsMax: millisecondsFrom(http.stallSecondsMax),
    responseStallMsMax: millisecondsFrom(http.stallSecondsMax),
    idleMsMax: millisecondsFrom(http.keepAliveSecondsMax),
    headBytesMax: http.headerBytesMax,
    // Counted uncompressed and with 32 bytes for every field on top.
    headerListBytesMax: 2 * http.headerBytesMax,
    connectionsMax: http.connectionsMax,
  };
}

/** The wire keeps no time shorter than this. */
const millisecondsMin = 100;

function millisecondsFrom(seconds: number): number {
  return Math.max(millisecondsMin, Math.ceil(seconds * 1000));
}
