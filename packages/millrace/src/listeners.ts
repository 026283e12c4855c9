/** The ports of the server. The first two serve the same: gRPC has one of its own because its clients expect it. */
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import {
  type BodyPool,
  type ConnectionLimiter,
  type HttpServer,
  type HttpServerOptions,
  type HttpTlsOptions,
  type ListeningServer,
  type OnUpgrade,
  type OwnerOf,
  type ServerMemory,
  serveWire,
  type WireHandler,
} from '@millrace/http';
import { ConfigError, type ConfigProblem, messageFromFileError } from '@millrace/protocol';
import { AllowedHosts, createGate, everyHost, type GateOptions } from '@millrace/router/edges';
import type { Config } from './config/fields.ts';
import { managementListenerOf, managementRefusalOf } from './management-listener.ts';
import { openManagementSocket, reopenManagementSocket } from './management-socket.ts';
import type { Supervision } from './supervisor/supervision.ts';

export interface Listeners {
  readonly http: HttpServer;
  readonly grpc: HttpServer;
  readonly metrics: HttpServer;
  /** Where management has a port or socket of its own. */
  readonly management: HttpServer | undefined;
  /** Those of the above that use TLS. */
  readonly encrypted: readonly ListeningServer[];
}

export interface ListenerParts {
  readonly config: Config;
  readonly api: WireHandler;
  /** Decides about requests for another protocol on the ports of the API. */
  readonly onUpgrade: OnUpgrade;
  readonly metrics: WireHandler;
  /** Left out, management has no port or socket of its own. */
  readonly management?: WireHandler | undefined;
  /** Memory that the requests of all ports share. */
  readonly memory: ServerMemory;
  /** Memory for large bodies of all ports. */
  readonly bodies: BodyPool;
  /** The owner of a request, where the address of its connection does not determine it. */
  readonly ownerOf: OwnerOf | undefined;
  /** Counts the connections of all ports. */
  readonly limiter: ConnectionLimiter;
  /** Lets a server accept several connections in a turn of the event loop. */
  readonly duplicateDescriptor?: HttpServerOptions['duplicateDescriptor'];
  /** Called for connections that could not be accepted. */
  readonly onAcceptError: (error: Error) => void;
  /** Called for requests that were refused because of the host they name or the page that sent them. */
  readonly onForbidden: (message: string) => void;
  /** Keeps the listening sockets while a router is replaced; left out, they close with the process. */
  readonly supervision?: Supervision | undefined;
}

/** Opens all listeners, or none. */
export async function openListeners(parts: ListenerParts): Promise<Listeners> {
  const { config, api, onUpgrade, metrics, management, supervision } = parts;
  const { memory, bodies, ownerOf, limiter, onAcceptError, onForbidden, duplicateDescriptor } = parts;
  const { host, httpPort, grpcPort, metricsPort, allowedHosts } = config.server;
  const tls = tlsFrom(config);
  const open: HttpServer[] = [];
  const encrypted: ListeningServer[] = [];
  const handles = new Map<string, unknown>();
  const serve = async (
    key: string,
    handler: WireHandler,
    gate: Omit<GateOptions, 'onRefused'>,
    own: HttpServerOptions,
  ) => {
    const server = await serveWire(handler, {
      ...optionsFrom(config),
      ...own,
      gate: createGate({ ...gate, onRefused: onForbidden }),
      memory,
      bodies,
      ownerOf,
      limiter,
      onAcceptError,
      duplicateDescriptor,
    });
    open.push(server);
    handles.set(key, server.handle);
    if (own.tls !== undefined) encrypted.push(server);
    return server;
  };
  const listen = async (name: string, handler: WireHandler, pages: PagesRule, address: ListenerAddress) => {
    const bound = await addressOf(address.host);
    const hosts = new AllowedHosts({ listed: allowedHosts, written: address.host, bound });
    const key = `${name} ${bound} ${address.port}`;
    const descriptor = supervision?.takeListener(key);
    return serve(key, handler, { hosts, ...pages }, { ...address, host: bound, descriptor });
  };
  const pages = {
    origins: config.http.corsOrigins.includes('*') ? ('*' as const) : config.http.corsOrigins,
    managementRefusal: managementRefusalOf(config),
  };
  const openManagement = async (handler: WireHandler): Promise<HttpServer | undefined> => {
    const listener = managementListenerOf(config);
    if (listener.kind === 'port') {
      return listen('management', handler, noPages, {
        host: listener.host,
        port: listener.port,
        tls,
        isForOperators: true,
      });
    }
    if (listener.kind !== 'socket') return undefined;
    const { path } = listener;
    const key = `management ${path}`;
    const serveAt = (address: Pick<HttpServerOptions, 'socketPath' | 'descriptor'>) =>
      serve(key, handler, { hosts: everyHost, ...noPages }, { ...address, isForOperators: true });
    const descriptor = supervision?.takeListener(key);
    if (descriptor !== undefined) return reopenManagementSocket(path, await serveAt({ descriptor }));
    return openManagementSocket(path, (socketPath) => serveAt({ socketPath }));
  };
  try {
    const listeners = {
      http: await listen('http', api, pages, { host, port: httpPort, tls, onUpgrade }),
      grpc: await listen('grpc', api, pages, { host, port: grpcPort, tls, onUpgrade }),
      metrics: await listen('metrics', metrics, noPages, { host, port: metricsPort, isForOperators: true }),
      management: management === undefined ? undefined : await openManagement(management),
      encrypted,
    };
    await supervision?.keepListeners(handles);
    return listeners;
  } catch (error) {
    for (const server of open) await server.close();
    throw error;
  }
}

/** Resolves when every call of the API and of management has been answered. Metrics can be read until the close. */
export async function drainListeners({ http, grpc, management }: Listeners): Promise<void> {
  await Promise.all([http.drain(), grpc.drain(), management?.drain()]);
}

export async function closeListeners({ http, grpc, metrics, management }: Listeners): Promise<void> {
  await Promise.all([http.close(), grpc.close(), metrics.close(), management?.close()]);
}

/** Throws a `ConfigError`, and leaves the certificates as they are, where the files cannot be used. */
export function replaceCertificates({ encrypted }: Listeners, config: Pick<Config, 'tls'>): void {
  const tls = tlsFrom(config);
  if (tls === undefined) return;
  for (const server of encrypted) server.replaceCertificates(tls);
}

type PagesRule = Pick<GateOptions, 'origins' | 'managementRefusal'>;

/** Pages of other origins may never call the ports of operators, even where they may run inference. */
const noPages: PagesRule = { origins: [] };

interface ListenerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: HttpTlsOptions | undefined;
  readonly onUpgrade?: OnUpgrade;
  readonly isForOperators?: boolean;
}

/** Resolved before anything listens: which hosts requests may name depends on the address. */
async function addressOf(host: string): Promise<string> {
  return isIP(host) === 0 ? (await lookup(host)).address : host;
}

function optionsFrom({ http, memory }: Config): HttpServerOptions {
  return {
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

/** Read as a whole, so that a file that cannot be used is reported before anything uses the others. */
function tlsFrom({ tls }: Pick<Config, 'tls'>): HttpTlsOptions | undefined {
  if (tls.certificateFile === '') return undefined;
  const problems: ConfigProblem[] = [];
  const read = (field: string, file: string): Buffer | undefined => {
    try {
      return readFileSync(file);
    } catch (error) {
      problems.push({ source: file, field, message: messageFromFileError(error) });
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
      const message = `and tls.keyFile cannot be used together: ${(error as Error).message}`;
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
