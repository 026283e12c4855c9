/** One port for every version of HTTP: what a connection speaks is told by ALPN or by its first bytes. */
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import type { OnHandlerError } from '../answer.ts';
import type { HttpHandler, HttpRequest, HttpServer } from '../exchange.ts';
import { Http1Connection } from '../http1/connection.ts';
import { Http2Connection } from '../http2/connection.ts';
import { type HttpLimitOptions, type HttpLimits, resolveHttpLimits } from './config.ts';
import { SharedHost } from './connection-host.ts';
import { wireHandlerFrom } from './seam-handler.ts';
import { Sniffer } from './sniffer.ts';
import { SocketTransport } from './socket-transport.ts';
import type { Connection } from './transport.ts';
import type { WireHandler } from './wire-exchange.ts';

/**
 * Takes over an HTTP/1.1 connection whose client asked for another protocol. `head` is what came behind the request.
 * False declines: the request is then served as if it had not asked. The socket reads on: listen to it, or pause it,
 * before returning. It is the taker's to end, and `drain` waits for that.
 */
export type OnUpgrade = (request: HttpRequest, socket: Duplex, head: Uint8Array) => boolean;

/** Certificates and the like, as `node:tls` takes them; ALPN is the server's own. */
export type HttpTlsOptions = Omit<TlsOptions, 'ALPNProtocols' | 'ALPNCallback'>;

export interface HttpServerOptions extends HttpLimitOptions {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 0: any free port. */
  readonly port?: number | undefined;
  readonly tls?: HttpTlsOptions | undefined;
  readonly onUpgrade?: OnUpgrade | undefined;
  /** Hears of failures that clients are not told about; unset, they become process warnings. */
  readonly onError?: OnHandlerError | undefined;
}

/** Serves a handler of the seam. */
export function serveHttp(handler: HttpHandler, options: HttpServerOptions = {}): Promise<HttpServer> {
  return serveWire(wireHandlerFrom(handler, options.onError ?? warn), options);
}

/** Serves a handler of the layer below the seam, which gets plain calls instead of promises. */
export async function serveWire(handler: WireHandler, options: HttpServerOptions = {}): Promise<HttpServer> {
  const server = new WireServer(handler, options, resolveHttpLimits(options));
  await server.listen(options.host ?? '127.0.0.1', options.port ?? 0);
  return server;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'MILLRACE_HTTP_HANDLER' });
}

class WireServer implements HttpServer {
  host = '';
  port = 0;
  readonly #limits: HttpLimits;
  readonly #shared: SharedHost;
  readonly #server: Server;
  readonly #onUpgrade: OnUpgrade | undefined;
  readonly #transports = new Set<SocketTransport>();
  /** Sockets whose TLS handshake is under way. */
  readonly #handshakes = new Set<Socket>();
  readonly #perAddress = new Map<string, number>();
  #onEmpty: (() => void) | undefined = undefined;
  #isDraining: boolean = false;

  constructor(handler: WireHandler, options: HttpServerOptions, limits: HttpLimits) {
    this.#limits = limits;
    this.#onUpgrade = options.onUpgrade;
    this.#shared = new SharedHost(limits, handler);
    if (options.tls === undefined) {
      this.#server = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#onSocket(socket));
      return;
    }
    const tls = { minVersion: 'TLSv1.2' as const, ...options.tls, ALPNProtocols: ['h2', 'http/1.1'] };
    const handshakeTimeout = Number.isFinite(limits.prefaceMsMax) ? limits.prefaceMsMax : 0x7fffffff;
    const server = createTlsServer({ ...tls, allowHalfOpen: true, handshakeTimeout }, (socket) =>
      this.#onSocket(socket, socket.alpnProtocol),
    );
    server.on('connection', (socket: Socket) => this.#onHandshake(socket));
    server.on('tlsClientError', (_error, socket: TLSSocket) => socket.destroy());
    this.#server = server;
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', () => {});
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

  async drain(): Promise<void> {
    this.#isDraining = true;
    const closed = this.#stopListening();
    for (const socket of this.#handshakes) socket.destroy();
    for (const transport of this.#transports) transport.connection.drain();
    await this.#whenEmpty();
    this.#shared.wheel.stop();
    await closed;
  }

  async close(): Promise<void> {
    this.#isDraining = true;
    const closed = this.#stopListening();
    for (const socket of this.#handshakes) socket.destroy();
    for (const transport of [...this.#transports]) transport.destroy();
    await this.#whenEmpty();
    this.#shared.wheel.stop();
    await closed;
  }

  #stopListening(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #whenEmpty(): Promise<void> {
    if (this.#transports.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const before = this.#onEmpty;
      this.#onEmpty = () => {
        before?.();
        resolve();
      };
    });
  }

  #isFull(address: string): boolean {
    const count = this.#transports.size + this.#handshakes.size;
    if (count >= this.#limits.connectionsMax || this.#isDraining) return true;
    return (this.#perAddress.get(address) ?? 0) >= this.#limits.connectionsPerAddressMax;
  }

  /** A handshake costs far more than a connection: it is refused before it begins. */
  #onHandshake(socket: Socket): void {
    if (this.#isFull(socket.remoteAddress ?? '')) {
      socket.destroy();
      return;
    }
    this.#handshakes.add(socket);
    socket.once('close', () => this.#handshakes.delete(socket));
  }

  #onSocket(socket: Socket, alpn?: string | false | null): void {
    const address = socket.remoteAddress ?? '';
    if (alpn === undefined && this.#isFull(address)) {
      socket.destroy();
      return;
    }
    this.#perAddress.set(address, (this.#perAddress.get(address) ?? 0) + 1);
    const transport = new SocketTransport(
      socket,
      (made) => this.#connectionFor(made, alpn),
      (gone) => this.#onGone(gone),
    );
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
    return new Http1Connection(this.#shared, transport, (request, head) => {
      const isTaken: boolean = onUpgrade(request, transport.release(), head);
      if (!isTaken) transport.attach();
      return isTaken;
    });
  }

  #onGone(transport: SocketTransport): void {
    this.#transports.delete(transport);
    const { address } = transport.peer;
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
    if (this.#transports.size === 0) {
      this.#onEmpty?.();
      this.#onEmpty = undefined;
    }
  }
}
