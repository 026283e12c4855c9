/** The connections to one server. Another is opened where the first has no room: a stream occupies its place for long. */
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { unreachable } from '../../errors/millrace-error.ts';
import { grpcTimeout } from '../rpc/grpc-timeout.ts';
import { messageBytesMaxDefault } from '../rpc/message-reader.ts';
import type { AnswerKind, OutgoingCall, RpcAnswerListener, RpcCaller } from '../rpc/rpc-call.ts';
import { lostOutcome } from '../rpc/rpc-outcome.ts';
import type { AttemptContext } from '../transport.ts';
import type { CallStream } from './call-stream.ts';
import { type HeaderPairs, Http2ClientConnection } from './http2-client-connection.ts';

export interface GrpcTransportOptions {
  /** For `https://`: certificates and the like, as `tls.connect` has them. */
  readonly tls?: ConnectionOptions;
  /** Connections to one server. One that has got GOAWAY does not count: its calls may last, and the next ones need another. */
  readonly connectionsMax?: number;
  /** How long a connection may take to come about. */
  readonly connectMsMax?: number;
  /** How long a connection with calls may be silent before it is pinged, and how long the answer may take. */
  readonly keepaliveMs?: number;
  readonly keepaliveTimeoutMs?: number;
  /** The longest message that is read. */
  readonly messageBytesMax?: number;
}

/** A call in the hands of the pool. */
export interface PoolCall extends OutgoingCall {
  /** Messages behind their prefixes. */
  send(body: readonly Uint8Array[], isEnd: boolean): void;
  /** Asks the server for a sign of life. */
  ping(onAnswer: () => void): void;
}

interface WaitingCall {
  begin(connection: PooledConnection): void;
  fail(): void;
}

/** Calls that wait until a connection has room. */
const waitingMax = 10_000;
/** Streams on one connection, fewer than servers allow, so that what is lost with it is bounded. */
const callsPerConnectionMax = 1000;

export class ConnectionPool implements RpcCaller {
  readonly #url: URL;
  readonly #options: Required<Omit<GrpcTransportOptions, 'tls'>> & { tls: ConnectionOptions };
  readonly #authority: string;
  readonly #connections: PooledConnection[] = [];
  /** In the order in which they came. */
  readonly #waiting = new Set<WaitingCall>();
  #isClosed: boolean = false;

  constructor(url: URL, options: GrpcTransportOptions) {
    this.#url = url;
    this.#authority = url.host;
    this.#options = {
      tls: options.tls ?? {},
      connectionsMax: options.connectionsMax ?? 4,
      connectMsMax: options.connectMsMax ?? 10_000,
      keepaliveMs: options.keepaliveMs ?? 20_000,
      keepaliveTimeoutMs: options.keepaliveTimeoutMs ?? 10_000,
      messageBytesMax: options.messageBytesMax ?? messageBytesMaxDefault,
    };
  }

  call(
    path: string,
    context: AttemptContext,
    message: readonly Uint8Array[],
    _kind: AnswerKind,
    listener: RpcAnswerListener,
  ): OutgoingCall {
    return this.begin(path, context, message, true, listener);
  }

  /** Begins a call of a method, at once or as soon as a connection has room. */
  begin(
    path: string,
    context: AttemptContext,
    body: readonly Uint8Array[],
    isWhole: boolean,
    listener: RpcAnswerListener,
  ): PoolCall {
    if (this.#isClosed) throw new TypeError('the client is closed');
    const fields = this.#fieldsOf(path, context);
    const deadlineAtMs =
      context.timeoutMs === Number.POSITIVE_INFINITY ? context.timeoutMs : performance.now() + context.timeoutMs;
    const connection = this.#takeConnection();
    if (connection !== undefined)
      return new BegunCall(connection, connection.begin(fields, body, isWhole, deadlineAtMs, listener));
    if (this.#waiting.size >= waitingMax) {
      throw unreachable(`${waitingMax} calls wait for a connection to ${this.#authority} already`, false);
    }
    const call = new QueuedCall(fields, body, isWhole, deadlineAtMs, listener, () => this.#waiting.delete(call));
    this.#waiting.add(call);
    return call;
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#connections]) connection.destroy('the client is closed', false);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const call of waiting) call.fail();
  }

  #takeConnection(): PooledConnection | undefined {
    let count = 0;
    for (const connection of this.#connections) {
      if (connection.hasRoom) return connection;
      if (!connection.http2.isLeaving) count += 1;
    }
    if (count >= this.#options.connectionsMax) return undefined;
    const connection = new PooledConnection(this.#url, this.#options, {
      onRoom: () => this.#serveWaiting(),
      onClosed: () => {
        this.#connections.splice(this.#connections.indexOf(connection), 1);
        this.#serveWaiting();
      },
    });
    this.#connections.push(connection);
    return connection;
  }

  #serveWaiting(): void {
    for (const call of this.#waiting) {
      const connection = this.#isClosed ? undefined : this.#takeConnection();
      if (connection === undefined) return;
      this.#waiting.delete(call);
      call.begin(connection);
    }
  }

  #fieldsOf(path: string, { timeoutMs, headers }: AttemptContext): HeaderPairs {
    const fields: [string, string][] = [
      [':method', 'POST'],
      [':scheme', this.#url.protocol === 'https:' ? 'https' : 'http'],
      [':path', path],
      [':authority', this.#authority],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
    ];
    if (timeoutMs !== Number.POSITIVE_INFINITY) fields.push(['grpc-timeout', grpcTimeout(timeoutMs)]);
    for (const [name, value] of headers) {
      mustBeField(name, value);
      fields.push([name, value]);
    }
    const characters = fields.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (characters > fieldCharactersMax) {
      throw new TypeError(
        `the header fields of a call have ${characters} characters; at most ${fieldCharactersMax} fit into its frame`,
      );
    }
    return fields;
  }
}

/** Of all fields of a call together: they are sent in one frame, and every server takes 16,384 bytes. */
const fieldCharactersMax = 8192;

function mustBeField(name: string, value: string): void {
  const isName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name);
  // Another value than a text would be written with a wrong length, and cost the connection with all its calls.
  const isValue = typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value);
  if (isName && isValue) return;
  throw new TypeError(
    `the header field ${JSON.stringify(name)} cannot be sent: its name must be a lower-case token, its value a text of ASCII without control characters`,
  );
}

class BegunCall implements PoolCall {
  readonly #connection: PooledConnection;
  readonly #stream: CallStream;

  constructor(connection: PooledConnection, stream: CallStream) {
    this.#connection = connection;
    this.#stream = stream;
  }

  send(body: readonly Uint8Array[], isEnd: boolean): void {
    this.#connection.http2.send(this.#stream, body, isEnd);
  }

  stop(): void {
    this.#connection.http2.stop(this.#stream);
  }

  ping(onAnswer: () => void): void {
    this.#connection.http2.ping(onAnswer);
  }
}

/** A call that waits for room. */
class QueuedCall implements PoolCall, WaitingCall {
  readonly #fields: HeaderPairs;
  readonly #body: Uint8Array[];
  readonly #deadlineAtMs: number;
  readonly #listener: RpcAnswerListener;
  readonly #leaveQueue: () => void;
  #isWhole: boolean;
  #call: BegunCall | undefined = undefined;

  constructor(
    fields: HeaderPairs,
    body: readonly Uint8Array[],
    isWhole: boolean,
    deadlineAtMs: number,
    listener: RpcAnswerListener,
    leaveQueue: () => void,
  ) {
    this.#fields = fields;
    this.#deadlineAtMs = deadlineAtMs;
    this.#body = [...body];
    this.#isWhole = isWhole;
    this.#listener = listener;
    this.#leaveQueue = leaveQueue;
  }

  begin(connection: PooledConnection): void {
    const stream = connection.begin(this.#fields, this.#body, this.#isWhole, this.#deadlineAtMs, this.#listener);
    this.#call = new BegunCall(connection, stream);
  }

  fail(): void {
    this.#listener.onEnd(lostOutcome(unreachable('the client was closed', false)), []);
  }

  send(body: readonly Uint8Array[], isEnd: boolean): void {
    if (this.#call !== undefined) {
      this.#call.send(body, isEnd);
      return;
    }
    this.#body.push(...body);
    this.#isWhole ||= isEnd;
  }

  stop(): void {
    this.#leaveQueue();
    this.#call?.stop();
  }

  ping(onAnswer: () => void): void {
    this.#call?.ping(onAnswer);
  }
}

interface PooledOwner {
  onRoom(): void;
  onClosed(): void;
}

class PooledConnection {
  readonly http2: Http2ClientConnection;
  readonly #socket: Socket | TLSSocket;
  readonly #url: URL;
  readonly #keepaliveMs: number;
  readonly #keepaliveTimeoutMs: number;
  #isConnected: boolean = false;
  #isBusy: boolean = false;
  #heardAtMs = 0;
  #isAsked: boolean = false;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(
    url: URL,
    options: Required<Omit<GrpcTransportOptions, 'tls'>> & { tls: ConnectionOptions },
    owner: PooledOwner,
  ) {
    this.#url = url;
    this.#keepaliveMs = options.keepaliveMs;
    this.#keepaliveTimeoutMs = options.keepaliveTimeoutMs;
    this.#socket = socketTo(url, options.tls);
    this.http2 = new Http2ClientConnection(
      {
        write: (pieces) => this.#write(pieces),
        nowMs: () => performance.now(),
        onClosed: () => {
          clearTimeout(this.#timer);
          // After GOAWAY, if there is one to send.
          this.#socket.end();
          this.#socket.unref();
          owner.onClosed();
        },
        onRoom: () => {
          this.#onRoom();
          owner.onRoom();
        },
      },
      options.messageBytesMax,
    );
    const socket = this.#socket;
    socket.setNoDelay(true);
    const connectTimer = setTimeout(
      () => this.destroy(`${url.host} did not accept a connection within ${options.connectMsMax} ms`, false),
      options.connectMsMax,
    );
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      this.#isConnected = true;
      clearTimeout(connectTimer);
    });
    socket.on('data', (bytes: Buffer) => {
      this.#heardAtMs = performance.now();
      this.http2.receive(bytes);
    });
    let reason: string | undefined;
    socket.once('error', (error) => {
      reason = reasonOf(error);
    });
    socket.once('close', () => {
      clearTimeout(connectTimer);
      const what = this.#isConnected ? `the connection to ${url.host} was lost` : `${url.host} cannot be reached`;
      this.http2.onLost(unreachable(`${what}: ${reason ?? this.#closedText()}`, this.#isConnected));
    });
  }

  get hasRoom(): boolean {
    return this.http2.hasRoom && this.http2.callCount < callsPerConnectionMax;
  }

  begin(
    fields: HeaderPairs,
    body: readonly Uint8Array[],
    isWhole: boolean,
    deadlineAtMs: number,
    listener: RpcAnswerListener,
  ): CallStream {
    const stream = this.http2.begin(fields, body, isWhole, deadlineAtMs, listener);
    if (!this.#isBusy) this.#becomeBusy();
    return stream;
  }

  #closedText(): string {
    if (this.http2.isHttp2 || this.#url.protocol === 'https:') return 'the server closed the connection';
    return 'the server closed the connection without an answer in HTTP/2; is it https://?';
  }

  destroy(message: string, wasSent: boolean): void {
    this.http2.onLost(unreachable(message, wasSent));
    this.#socket.destroy();
  }

  #write(pieces: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (pieces.length === 1) {
      socket.write(pieces[0] as Uint8Array);
      return;
    }
    socket.cork();
    for (const piece of pieces) socket.write(piece);
    socket.uncork();
  }

  /** A program ends when it waits for nothing, whatever connections it has. */
  #becomeBusy(): void {
    this.#isBusy = true;
    this.#socket.ref();
    if (this.#timer === undefined) {
      this.#heardAtMs = performance.now();
      this.#isAsked = false;
      this.#watch(this.#keepaliveMs);
    }
  }

  #onRoom(): void {
    if (this.http2.callCount > 0) return;
    if (this.#isBusy) {
      this.#isBusy = false;
      this.#socket.unref();
    }
    // Nothing follows on it, also where GOAWAY came while there was no call.
    if (this.http2.isLeaving) this.destroy('the server closes the connection', false);
  }

  /** It is alive: the next silence begins now, not when the answer would have been late. */
  #onPong(): void {
    if (this.#timer === undefined || !this.#isAsked) return;
    clearTimeout(this.#timer);
    this.#isAsked = false;
    this.#watch(this.#keepaliveMs);
  }

  /** The timer goes on by itself while there are calls: to set one for each of them would cost more. */
  #watch(delayMs: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#isBusy || this.http2.isStopped) return;
      const silentMs = performance.now() - this.#heardAtMs;
      if (silentMs < this.#keepaliveMs) {
        this.#isAsked = false;
        this.#watch(this.#keepaliveMs - silentMs);
      } else if (!this.#isAsked) {
        this.#isAsked = true;
        this.http2.ping(() => this.#onPong());
        this.#watch(this.#keepaliveTimeoutMs);
      } else {
        this.destroy(`${this.#url.host} was silent for ${Math.round(silentMs)} ms`, true);
      }
    }, delayMs);
    this.#timer.unref();
  }
}

function reasonOf({ message }: Error): string {
  // OpenSSL's words for an answer that is no TLS, with the line of its own source.
  return message.includes('wrong version number') ? 'its answer is not TLS; is it http://?' : message.trim();
}

function socketTo(url: URL, tls: ConnectionOptions): Socket | TLSSocket {
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  if (!isTls) return connectTcp({ host, port });
  // An address is no name for SNI.
  const name = /[^0-9.:]/.test(host) ? { servername: host } : {};
  return connectTls({ host, port, ALPNProtocols: ['h2'], ...name, ...tls });
}
