/** The ports of the server. The first two serve the same: gRPC has one of its own because its clients expect it. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import {
  type ConnectionDoor,
  type HttpServer,
  type HttpServerOptions,
  type HttpTlsOptions,
  type ServerMemory,
  serveWire,
  type WireHandler,
} from '@millrace/http';
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import type { CallerRule } from '@millrace/router';
import { failureReason } from './cli/failure-reason.ts';
import type { Config } from './config/fields.ts';

export interface Listeners {
  readonly http: HttpServer;
  readonly grpc: HttpServer;
  readonly metrics: HttpServer;
  /** Where management has a port of its own. */
  readonly management: HttpServer | undefined;
}

export interface ListenerParts {
  readonly config: Config;
  readonly api: WireHandler;
  readonly metrics: WireHandler;
  /** Left out, management has no port of its own. */
  readonly management?: WireHandler | undefined;
  readonly callers: CallerRule;
  /** Counts the connections of all ports. */
  readonly door: ConnectionDoor;
  /** What the requests of all ports may hold together. */
  readonly memory: ServerMemory;
  /** Hears of connections that could not be accepted. */
  readonly onAcceptError: (error: Error) => void;
}

type Place = Pick<HttpServerOptions, 'host' | 'port' | 'tls' | 'isForOperators'>;

/** Opens all of them, or none. */
export async function openListeners(parts: ListenerParts): Promise<Listeners> {
  const { config, api, metrics, management, callers, door, memory, onAcceptError } = parts;
  const { httpPort, grpcPort, metricsPort } = config.server;
  const tls = tlsFrom(config);
  const options = { ...optionsFrom(config), ownerOf: ownerOfCaller(callers), door, memory, onAcceptError };
  const open: HttpServer[] = [];
  const listen = async (handler: WireHandler, place: Place) => {
    const server = await serveWire(handler, { ...options, ...place });
    open.push(server);
    return server;
  };
  try {
    return {
      http: await listen(api, { port: httpPort, tls }),
      grpc: await listen(api, { port: grpcPort, tls }),
      metrics: await listen(metrics, { port: metricsPort, isForOperators: true }),
      management:
        management === undefined
          ? undefined
          : await listen(management, { ...ownPlace(config), tls, isForOperators: true }),
    };
  } catch (error) {
    for (const server of open) await server.close();
    throw error;
  }
}

function ownPlace({ management }: Config): { readonly host: string; readonly port: number } {
  return { host: management.host, port: management.port === 'same' ? 0 : management.port };
}

function optionsFrom({ server, http, memory }: Config): HttpServerOptions {
  return {
    host: server.host,
    headMsMax: millisecondsFrom(http.headerSecondsMax),
    bodyStallMsMax: millisecondsFrom(http.stallSecondsMax),
    bodyBytesPerSecondMin: http.bodyBytesPerSecondMin,
    bodyMsMax: millisecondsFrom(http.bodySecondsMax),
    memoryWaitMsMax: millisecondsFrom(memory.waitSecondsMax),
    responseStallMsMax: millisecondsFrom(http.stallSecondsMax),
    idleMsMax: millisecondsFrom(http.keepAliveSecondsMax),
    headBytesMax: http.headerBytesMax,
    headerFieldsMax: http.headerFieldsMax,
    // Counted uncompressed and with 32 bytes for every field on top.
    headerListBytesMax: 2 * http.headerBytesMax,
  };
}

/** Where a gateway names the caller, that is whose memory a request takes; else its address tells. */
function ownerOfCaller(callers: CallerRule): HttpServerOptions['ownerOf'] {
  if (callers.isByConnection) return undefined;
  return (headers, peer) => (callers.readsHeaders(peer) ? callers.callerOf(headers, peer) : undefined);
}

/** Read here, once, so that a file that cannot be used is told before anything listens. */
function tlsFrom({ tls }: Config): HttpTlsOptions | undefined {
  if (tls.certificateFile === '') return undefined;
  const problems: ConfigProblem[] = [];
  const read = (field: string, file: string): Buffer | undefined => {
    try {
      return readFileSync(file);
    } catch (error) {
      problems.push({ source: file, field, message: `cannot be read: ${failureReason(error)}` });
      return undefined;
    }
  };
  const cert = read('tls.certificateFile', tls.certificateFile);
  const key = read('tls.keyFile', tls.keyFile);
  const ca = tls.clientAuthorityFile === '' ? undefined : read('tls.clientAuthorityFile', tls.clientAuthorityFile);
  const clients = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: true };
  const options: HttpTlsOptions = { cert, key, ...clients };
  if (problems.length === 0) {
    try {
      createSecureContext(options);
    } catch (error) {
      const message = `and tls.keyFile cannot be used together: ${failureReason(error)}`;
      problems.push({ source: tls.certificateFile, field: 'tls.certificateFile', message });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return options;
}

/** The wire keeps no time shorter than this. */
const millisecondsMin = 100;

function millisecondsFrom(seconds: number): number {
  return Math.max(millisecondsMin, Math.ceil(seconds * 1000));
}
