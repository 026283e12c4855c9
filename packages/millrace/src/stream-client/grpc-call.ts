/** One gRPC call with JSON messages on an HTTP/2 connection of its own: a lost connection is the status of the call. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { type GrpcCallStatus, statusFromFields, statusFromHttp, statusFromReset } from './grpc-status.ts';

export interface GrpcCallListener {
  onMessage(message: string): void;
  /** Called once, unless `close` was called before. */
  onEnd(status: GrpcCallStatus): void;
}

export interface GrpcCallOptions {
  /** `package.Service/Method`. */
  readonly method: string;
  /** Told to the server and kept by this side; undefined: none. */
  readonly deadlineMs?: number;
}

const messageBytesMax = 256 * 1024 * 1024;
/** A connection on which nothing comes for so long is pinged, and given up when no answer comes. Servers take pings every 10 s. */
const quietMsMax = 12_000;
const pingMsMax = 5000;

export class GrpcCall {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  readonly #listener: GrpcCallListener;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #status: GrpcCallStatus | undefined;
  #error: NodeJS.ErrnoException | undefined;
  #isOver: boolean = false;
  #quietTimer: NodeJS.Timeout | undefined;
  #deadlineTimer: NodeJS.Timeout | undefined;

  constructor(url: string, { method, deadlineMs }: GrpcCallOptions, listener: GrpcCallListener) {
    this.#listener = listener;
    this.#session = connect(url);
    // A call that ends with its connection has the error of the connection as its cause.
    const noteError = (error: NodeJS.ErrnoException): void => {
      this.#error ??= error.cause instanceof Error ? error.cause : error;
    };
    this.#session.on('error', noteError);
    this.#session.once('close', () => this.#end());
    this.#stream = this.#session.request({
      ':method': 'POST',
      ':path': `/${method}`,
      'content-type': 'application/grpc+json',
      te: 'trailers',
      'user-agent': 'millrace',
      ...(deadlineMs === undefined ? {} : { 'grpc-timeout': `${Math.ceil(deadlineMs)}m` }),
    });
    this.#stream.on('error', noteError);
    this.#stream.on('response', (fields) => {
      this.#status = statusFromFields(fields);
      const httpStatus = Number(fields[':status']);
      if (this.#status === undefined && httpStatus !== 200) this.#status = statusFromHttp(httpStatus);
    });
    this.#stream.on('trailers', (fields) => {
      this.#status = statusFromFields(fields) ?? this.#status;
    });
    this.#stream.on('data', (bytes: Buffer) => this.#take(bytes));
    // Its end is the end of the call, whatever this side would still send; without a status it is known soon why.
    this.#stream.once('end', () => (this.#status === undefined ? this.#stream.close() : this.#end()));
    this.#stream.once('close', () => this.#end());
    if (deadlineMs !== undefined) {
      this.#deadlineTimer = setTimeout(() => {
        this.#status = { name: 'DEADLINE_EXCEEDED', message: `no answer within ${deadlineMs / 1000} s` };
        this.#end();
      }, deadlineMs);
    }
    this.#watchQuiet();
  }

  send(message: string): void {
    if (this.#isOver || this.#stream.destroyed) return;
    const body = Buffer.from(message);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    this.#stream.write(Buffer.concat([head, body]));
  }

  /** No message follows. */
  finish(): void {
    this.#stream.end();
  }

  /** Breaks the connection; the listener hears nothing more. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#quietTimer);
    clearTimeout(this.#deadlineTimer);
    this.#session.destroy();
  }

  #take(bytes: Buffer): void {
    this.#watchQuiet();
    this.#pieces.push(bytes);
    this.#pieceBytes += bytes.length;
    while (this.#pieceBytes >= 5 && !this.#isOver) {
      const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
      this.#pieces = [all];
      const length = all.readUInt32BE(1);
      if (all[0] !== 0 || length > messageBytesMax) {
        this.#status = {
          name: 'INTERNAL',
          message: `the server sent a message of ${length} bytes, or a compressed one`,
        };
        this.#end();
        return;
      }
      if (all.length < 5 + length) return;
      this.#pieces = all.length === 5 + length ? [] : [all.subarray(5 + length)];
      this.#pieceBytes -= 5 + length;
      this.#listener.onMessage(all.toString('utf8', 5, 5 + length));
    }
  }

  #watchQuiet(): void {
    clearTimeout(this.#quietTimer);
    this.#quietTimer = setTimeout(() => this.#ask(), quietMsMax);
  }

  #ask(): void {
    this.#quietTimer = setTimeout(() => {
      this.#status = {
        name: 'UNAVAILABLE',
        message: `the connection is dead: no answer to a ping within ${pingMsMax / 1000} s`,
      };
      this.#end();
    }, pingMsMax);
    if (!this.#session.destroyed && !this.#session.connecting) {
      this.#session.ping((error) => {
        if (error === null && !this.#isOver) this.#watchQuiet();
      });
    }
  }

  #end(): void {
    if (this.#isOver) return;
    const { rstCode } = this.#stream;
    const isConnectionLost = this.#error !== undefined || this.#session.destroyed || this.#session.closed;
    this.close();
    this.#listener.onEnd(this.#status ?? (isConnectionLost ? this.#lostStatus() : statusFromReset(rstCode)));
  }

  #lostStatus(): GrpcCallStatus {
    const { code, message = 'the connection was closed' } = this.#error ?? {};
    return {
      name: 'UNAVAILABLE',
      message: code === undefined ? message : `connection lost: ${code}`,
      systemCode: code,
    };
  }
}
