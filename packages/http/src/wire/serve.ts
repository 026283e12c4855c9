/** Serves every version of HTTP on one port: ALPN or the first bytes tell which one a connection uses. */
import assert from 'node:assert/strict';
import { constants } from 'node:crypto';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, Server as TlsServer } from 'node:tls';
import { ConfigError } from '@millrace/protocol';
import type { OnHandlerError } from '../answer.ts';
import type { HttpHandler, HttpServer } from '../exchange.ts';
import { Http1Connection } from '../http1/connection.ts';
import { Http2Connection } from '../http2/connection.ts';
import { Acceptors, type DuplicateDescriptor } from './acceptors.ts';
import type { BodyPool } from './body-pool.ts';
import { type HttpLimitOptions, type HttpLimits, resolveHttpLimits } from './config.ts';
import { type OwnerOf, SharedHost } from './connection-host.ts';
import { ConnectionLimiter, type ConnectionLimiterOptions, connectionLimitNames } from './connection-limiter.ts';
import type { LimitedConnection } from './limited-connection.ts';
import type { ServerMemory } from './memory.ts';
import { gatedHandler, type RequestGate } from './request-gate.ts';
import { wireHandlerFrom } from './seam-handler.ts';
import { SharedInput } from './shared-input.ts';
import { Sniffer } from './sniffer.ts';
import { SocketTransport } from './socket-transport.ts';
import type { Connection } from './transport.ts';
import type { OnUpgrade } from './upgrade.ts';
import type { WireHandler } from './wire-exchange.ts';

/** Certificates and the like, as `node:tls` takes them; ALPN is the server's own. */
export type HttpTlsOptions = Omit<TlsOptions, 'ALPNProtocols' | 'ALPNCallback'>;

export interface HttpServerOptions extends HttpLimitOptions, Pick<ConnectionLimiterOptions, 'trustedProxies'> {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  /** Path of a Unix socket to listen on, instead of host and port. */
  readonly socketPath?: string | undefined;
  /** An open listening socket that this process has inherited, instead of an address or path. */
  readonly descriptor?: number | undefined;
  /** Opens further handles of the listening socket, so that more than one connection is accepted in a turn of the event loop. */
  readonly duplicateDescriptor?: DuplicateDescriptor | undefined;
  /** Asked about every request, upgrades included; if left out, all are served. */
  readonly gate?: RequestGate | undefined;
  readonly tls?: HttpTlsOptions | undefined;
  /** Asked about requests for another protocol that the gate lets pass; if left out, they are served as any other. */
  readonly onUpgrade?: OnUpgrade | undefined;
  /** Told of failures that clients do not see; if left out, they become process warnings. */
  readonly onError?: OnHandlerError | undefined;
  /**
   * Told of connections that could not be accepted, for example without free descriptors. The server keeps listening.
   */
  readonly onAcceptError?: ((error: Error) => void) | undefined;
  /** Memory for requests, shared with other servers of the process. If left out, there is no limit. */
  readonly memory?: ServerMemory | undefined;
  /** Memory for large bodies, shared with other servers of the process. If left out, the server has its own. */
  readonly bodies?: BodyPool | undefined;
  /** The owner of a request; if left out, or where it returns nothing, the address decides. */
  readonly ownerOf?: OwnerOf | undefined;
  /** Counts the connections of several servers together, by its own limits and trusted proxies. */
  readonly limiter?: ConnectionLimiter | undefined;
  /** Its connections may exceed the limits by `operatorConnections`. */
  readonly isForOperators?: boolean | undefined;
}

/** The TLS 1.2 suites that RFC 9113, 9.2.2 allows: forward secrecy and authenticated encryption. */
const ciphers =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

const secureDefaults = {
  minVersion: 'TLSv1.2',
  ciphers,
  // RFC 9113, 9.2.1 forbids renegotiation; nobody misses it.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} satisfies TlsOptions;

/**
 * Connections that may wait to be accepted, while the process is busy or a new one takes over the socket; the system lowers it to
 * its own limit (`net.core.somaxconn`). Beyond that the system drops what clients send, and they try again after seconds.
 */
const acceptQueueMax = 65_535;

/** A server that listens on a socket. */
export interface ListeningServer extends HttpServer {
  /** The listening socket as Node's channel between processes passes it on without accepting from it. */
  readonly handle: unknown;
  /**
   * Uses other certificates for connections that are made from now on; those that are open keep theirs. Only for a server
   * with TLS, and client certificates are demanded as before.
   */
  replaceCertificates(tls: HttpTlsOptions): void;
}

/** Serves a handler of the seam. */
export function serveHttp(handler: HttpHandler, options: HttpServerOptions = {}): Promise<ListeningServer> {
  return serveWire(wireHandlerFrom(handler, options.onError ?? warn), options);
}

/** Serves a handler of the layer below the seam, which gets plain calls instead of promises. */
export async function serveWire(handler: WireHandler, options: HttpServerOptions = {}): Promise<ListeningServer> {
  checkSharedLimiter(options);
  const server = new WireServer(handler, options, resolveHttpLimits(options));
  await server.listen(addressFrom(options));
  return server;
}

function addressFrom({ descriptor, socketPath, host = '127.0.0.1', port = 0 }: HttpServerOptions): ListenAddress {
  if (descriptor !== undefined) return { fd: descriptor };
  return socketPath === undefined ? { host, port } : { path: socketPath };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'MILLRACE_HTTP_HANDLER' });
}

function ignore(): void {}

function originOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** Limits that a shared connection limiter has already would silently have no effect here. */
function checkSharedLimiter(options: HttpServerOptions): void {
  if (options.limiter === undefined) return;
  const idle = [...connectionLimitNames, 'trustedProxies' as const].filter((name) => options[name] !== undefined);
  const message = 'has no effect beside a shared connection limiter; set it there';
  if (idle.length > 0) throw new ConfigError(idle.map((field) => ({ source: 'http options', field, message })));
}
type ListenAddress =
  | { readonly host: string; readonly port: number }
  | { readonly path: string }
  | { readonly fd: number };

class WireServer implements ListeningServer {
  host = '';
  port = 0;
  readonly #shared: SharedHost;
  readonly #input: SharedInput;
  readonly #server: Server;
  readonly #acceptors = new Acceptors();
  readonly #duplicateDescriptor: DuplicateDescriptor | undefined;
  readonly #onUpgrade: OnUpgrade | undefined;
  readonly #gate: RequestGate | undefined;
  readonly #onAcceptError: (error: Error) => void;
  readonly #limiter: ConnectionLimiter;
  /** TLS handshakes in progress. A TLS socket and the socket below it share an origin. */
  readonly #handshakes = new Map<string, LimitedConnection>();
  readonly #transports = new Set<SocketTransport>();
  #onEmpty: (() => void)[] = [];
  #isDraining: boolean = false;

  constructor(handler: WireHandler, options: HttpServerOptions, limits: HttpLimits) {
    this.#onUpgrade = options.onUpgrade;
    this.#duplicateDescriptor = options.duplicateDescriptor;
    this.#gate = options.gate;
    this.#onAcceptError = options.onAcceptError ?? ignore;
    const gated = options.gate === undefined ? handler : gatedHandler(handler, options.gate);
    this.#shared = new SharedHost(limits, gated, options);
    this.#input = new SharedInput(this.#shared.bodies);
    this.#limiter = options.limiter ?? new ConnectionLimiter(limits, { trustedProxies: options.trustedProxies });
    const entrance = { isEncrypted: options.tls !== undefined, isForOperators: options.isForOperators ?? false };
    this.#server =
      options.tls === undefined
        ? createTcpServer({ allowHalfOpen: true, noDelay: true })
        : this.#createTlsServer(options.tls, limits);
    // A handshake costs far more than a connection: one too many is refused before it begins.
    this.#server.on('connection', (socket: Socket) => {
      const guest = this.#isDraining ? undefined : this.#limiter.admit(socket, entrance);
      if (guest === undefined) socket.destroy();
      else if (entrance.isEncrypted) this.#onHandshake(socket, guest);
      else this.#onSocket(socket, guest);
    });
  }

  #createTlsServer(options: HttpTlsOptions, limits: HttpLimits): Server {
    const server = createTlsServer({
      ...secureDefaults,
      ...options,
      ALPNProtocols: ['h2', 'http/1.1'],
      allowHalfOpen: true,
      noDelay: true,
      handshakeTimeout: Math.min(limits.prefaceMsMax, 0x7fffffff),
    });
    server.on('secureConnection', (socket) => {
      const guest = this.#handshakes.get(originOf(socket));
      // It was closed in the same turn: the server closed, or another connection replaced it.
      if (guest?.list === undefined) {
        socket.destroy();
        return;
      }
      this.#handshakes.delete(originOf(socket));
      this.#limiter.establish(guest);
      this.#onSocket(socket, guest, socket.alpnProtocol);
    });
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    return server;
  }

  async listen(address: ListenAddress): Promise<void> {
    await this.#listen(address);
    const duplicate = this.#duplicateDescriptor;
    if (duplicate === undefined) return;
    const options = { backlog: acceptQueueMax, duplicate, onError: this.#onAcceptError };
    await this.#acceptors.open(this.#server, options).catch(async (error: unknown) => {
      await this.close();
      throw error;
    });
  }

  #listen(address: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ ...address, backlog: acceptQueueMax }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#onAcceptError);
        const address = this.#server.address();
        if (address !== null && typeof address === 'object') {
          this.host = address.address;
          this.port = address.port;
        }
        this.#shared.wheel.start();
        resolve();
      });
    });
  }

  /** Node has no public name for it; a `Server` that is sent instead would accept connections where it arrives. */
  get handle(): unknown {
    return (this.#server as unknown as { readonly _handle: unknown })._handle;
  }

  replaceCertificates(tls: HttpTlsOptions): void {
    assert(this.#server instanceof TlsServer, 'certificates of a server without TLS');
    this.#server.setSecureContext({ ...secureDefaults, ...tls });
  }

  drain(): Promise<void> {
    return this.#stop((transport) => transport.connection.drain());
  }

  close(): Promise<void> {
    return this.#stop((transport) => transport.destroy());
  }

  async #stop(release: (transport: SocketTransport) => void): Promise<void> {
    this.#isDraining = true;
    const closed = Promise.all([
      new Promise<void>((resolve) => this.#server.close(() => resolve())),
      this.#acceptors.close(),
    ]);
    for (const { socket } of [...this.#handshakes.values()]) socket.destroy();
    for (const transport of [...this.#transports]) release(transport);
    if (this.#transports.size > 0) await new Promise<void>((resolve) => this.#onEmpty.push(resolve));
    this.#shared.wheel.stop();
    await closed;
  }

  #onHandshake(socket: Socket, guest: LimitedConnection): void {
    const origin = originOf(socket);
    this.#handshakes.set(origin, guest);
    socket.once('close', () => {
      if (this.#handshakes.get(origin) === guest) this.#handshakes.delete(origin);
    });
  }

  #onSocket(socket: Socket, guest: LimitedConnection, alpn?: string | false | null): void {
    const transport = new SocketTransport(
      socket,
      guest.address,
      (made) => this.#connectionFor(made, alpn),
      (gone) => this.#onGone(gone),
      this.#input,
    );
    guest.transport = transport;
    this.#transports.add(transport);
  }

  #connectionFor(transport: SocketTransport, alpn: string | false | null | undefined): Connection {
    if (alpn === 'h2') return new Http2Connection(this.#shared, transport);
    if (alpn === 'http/1.1') return this.#http1(transport);
    return new Sniffer(this.#shared, transport, (isHttp2) => {
      transport.connection = isHttp2 ? new Http2Connection(this.#shared, transport) : this.#http1(transport);
      return transport.connection;
    });
  }

  #http1(transport: SocketTransport): Connection {
    const onUpgrade = this.#onUpgrade;
    if (onUpgrade === undefined) return new Http1Connection(this.#shared, transport);
    return new Http1Connection(this.#shared, transport, {
      // A request that the gate refuses is not offered: it is served as any other, and the gate answers it there.
      onUpgrade: (exchange) => (this.#gate?.(exchange) === undefined ? onUpgrade(exchange) : undefined),
      switchTo: (connection) => {
        transport.connection = connection;
      },
    });
  }

  #onGone(transport: SocketTransport): void {
    this.#transports.delete(transport);
    if (this.#transports.size > 0) return;
    for (const onEmpty of this.#onEmpty.splice(0)) onEmpty();
  }
}
