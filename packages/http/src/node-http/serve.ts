import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Cancellation } from '@millrace/protocol';
import { answerFrom, internalServerError, releaseOnce } from '../answer.ts';
import type { HttpHandler, HttpResponse, HttpServer } from '../exchange.ts';
import { type NodeHttpConfig, type NodeHttpOptions, resolveNodeHttpConfig } from './config.ts';
import { NodeHttpRequest } from './request.ts';
import { NodeRequestBody } from './request-body.ts';
import { writeHeadAndPieces, writeStreamedBody } from './write-response.ts';

/** Listens with `node:http` and hands every request to the handler. Raises a `ConfigError` for options out of range. */
export async function serveNodeHttp(handler: HttpHandler, options: NodeHttpOptions = {}): Promise<HttpServer> {
  const listener = new NodeHttpListener(handler, resolveNodeHttpConfig(options));
  await listener.listen();
  return listener;
}

class NodeHttpListener implements HttpServer {
  readonly #handler: HttpHandler;
  readonly #config: NodeHttpConfig;
  readonly #server: Server;
  /** Open connections, each with the number of its requests that are not answered yet. */
  readonly #connections = new Map<Socket, number>();
  readonly #closed: Promise<void>;
  #isDraining: boolean = false;

  constructor(handler: HttpHandler, config: NodeHttpConfig) {
    this.#handler = handler;
    this.#config = config;
    this.#server = createServer({
      headersTimeout: config.headersTimeoutMs,
      requestTimeout: config.requestTimeoutMs,
      keepAliveTimeout: config.keepAliveTimeoutMs,
      maxHeaderSize: config.headerBytesMax,
      // Timeouts are looked for at this interval, so they are late by at most a quarter of the shortest.
      connectionsCheckingInterval: Math.ceil(Math.min(config.headersTimeoutMs, 30_000) / 4),
      noDelay: true,
    });
    // Past this count node:http drops fields in silence; one more than allowed is let through, so it can be refused.
    this.#server.maxHeadersCount = config.headerFieldsMax + 1;
    this.#server.maxConnections = config.connectionsMax;
    this.#server.on('connection', (socket) => {
      this.#connections.set(socket, 0);
      // One listener for each of its pipelined requests.
      socket.setMaxListeners(0);
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.#server.on('request', (message, out) => this.#take(message, out, false));
    this.#server.on('checkContinue', (message, out) => this.#take(message, out, true));
    this.#closed = new Promise((resolve) => this.#server.once('close', resolve));
  }

  get host(): string {
    return this.#config.host;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#config.port;
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#config.port, this.#config.host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#config.onError);
        resolve();
      });
    });
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    this.#server.close();
    for (const [socket, requests] of this.#connections) if (requests === 0) socket.destroy();
    return this.#closed;
  }

  close(): Promise<void> {
    this.#isDraining = true;
    this.#server.close();
    for (const socket of this.#connections.keys()) socket.destroy();
    return this.#closed;
  }

  #take(message: IncomingMessage, out: ServerResponse, awaitsContinue: boolean): void {
    const { socket } = message;
    this.#connections.set(socket, (this.#connections.get(socket) ?? 0) + 1);
    // A reset connection is reported through the body and the signal; the streams' own event would only crash us.
    message.on('error', () => {});
    out.on('error', () => {});
    const cancellation = new Cancellation();
    whenOver(out, socket, () => {
      this.#letGo(socket);
      if (!out.writableFinished) cancellation.cancel('cancelled');
    });
    if (message.rawHeaders.length / 2 > this.#config.headerFieldsMax) {
      out.writeHead(431, ['connection', 'close']).end();
      return;
    }
    const body = new NodeRequestBody(message, awaitsContinue ? out : undefined);
    const request = new NodeHttpRequest(message, body, cancellation);
    this.#answer(request, body, out).catch((error: unknown) => {
      this.#config.onError(error);
      out.destroy();
    });
  }

  /** A connection whose response promised to stay open does not outlive a drain that began after it. */
  #letGo(socket: Socket): void {
    const requests = (this.#connections.get(socket) ?? 1) - 1;
    if (this.#connections.has(socket)) this.#connections.set(socket, requests);
    if (this.#isDraining && requests === 0) socket.destroySoon();
  }

  async #answer(request: NodeHttpRequest, body: NodeRequestBody, out: ServerResponse): Promise<void> {
    const response = await answerFrom(this.#handler, request, this.#config.onError);
    const release = releaseOnce(response, this.#config.onError);
    out.once('finish', release);
    request.signal.onCancel(release);
    if (request.signal.reason !== undefined) return;
    // A body that is still held back may yet be sent: there is no telling where the next request would begin.
    if (this.#isDraining || body.isHeldBack) out.shouldKeepAlive = false;
    out.prependOnceListener('finish', () => body.discard(this.#config.discardBytesMax));
    cutWhenStalled(out, this.#config.stallTimeoutMs);
    const streamed = this.#sendHead(response, out, request.method);
    if (streamed !== undefined) await writeStreamedBody(streamed, response, out, request.signal);
  }

  #sendHead(response: HttpResponse, out: ServerResponse, method: string): AsyncIterable<Uint8Array> | undefined {
    try {
      return writeHeadAndPieces(response, out, method);
    } catch (error) {
      if (out.headersSent) throw error;
      this.#config.onError(error);
      return writeHeadAndPieces(internalServerError(), out, method);
    }
  }
}

/**
 * Calls back once, when the response is done or its connection is gone. Both are watched: a response that waits behind
 * another one on the same connection is not told by node:http when that connection closes.
 */
function whenOver(out: ServerResponse, socket: Socket, callback: () => void): void {
  const over = () => {
    out.off('close', over);
    socket.off('close', over);
    callback();
  };
  out.on('close', over);
  socket.on('close', over);
}

/** Nothing left for a while is a stall only if something waits to leave; a stream may be silent for as long as it likes. */
function cutWhenStalled(out: ServerResponse, stallTimeoutMs: number): void {
  out.setTimeout(stallTimeoutMs, () => {
    if (out.writableLength > 0) out.socket?.destroy();
    else out.socket?.setTimeout(stallTimeoutMs);
  });
  // The timer is the connection's: left running, it would cut a pipelined request that is still being answered.
  out.prependOnceListener('finish', () => out.socket?.setTimeout(0));
}
