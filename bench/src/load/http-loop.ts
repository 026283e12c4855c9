/** HTTP/1.1 requests in a closed loop: keep-alive connections, each with one request or one write of several in flight; answers cut by content-length. */
import { connect, type Socket } from 'node:net';
import { takeDirectWrites } from '@millrace/http/internal';
import { ClosedLoop } from './closed-loop.ts';

export interface HttpWork {
  readonly connections: number;
  /** The whole request as it goes on the wire. */
  readonly request: Uint8Array;
  /** Requests that a connection sends in one write, without waiting for answers; 1 unless given. */
  readonly pipelined?: number;
  /**
   * Checks the body of an answer with status 200; `count`: how many of them the connection has had before. Not called for
   * answers that are byte for byte those that it has just found right.
   */
  isRight(body: Buffer, count: number): boolean;
}

interface Connection {
  readonly socket: Socket;
  send(): void;
}

const noBytes = Buffer.alloc(0);
/** All connections are read into the same memory: what is not known yet is copied. */
const readBytes = 64 * 1024;
/** Longer answers are not compared with the last one. */
const knownBytesMax = 4 * 1024;

/** The load must cost less than the server, or it would be what is measured. */
const directWrites = takeDirectWrites();

function write(socket: Socket, bytes: Uint8Array): void {
  if (directWrites === undefined || socket.connecting || socket.writableLength > 0) {
    socket.write(bytes);
    return;
  }
  const outcome = directWrites.write(socket, bytes, { onDirectWritten: (isFailed) => isFailed && socket.destroy() });
  if (outcome === 'refused') socket.write(bytes);
  else if (outcome === 'failed') socket.destroy(new Error('a request could not be written'));
}

export class HttpLoop extends ClosedLoop {
  readonly #connections: readonly Connection[];
  #latenciesMs: number[] = [];

  constructor(port: number, work: HttpWork) {
    super();
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    this.#connections = Array.from({ length: work.connections }, () => this.#connect(port, work, buffer));
  }

  /** Of the last slice. */
  get latenciesMs(): readonly number[] {
    return this.#latenciesMs;
  }

  override close(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  protected override sendFirst(): void {
    this.#latenciesMs = [];
    for (const connection of this.#connections) connection.send();
  }

  #connect(port: number, { request, isRight, pipelined = 1 }: HttpWork, buffer: Buffer): Connection {
    const requests = pipelined === 1 ? request : Buffer.concat(Array<Uint8Array>(pipelined).fill(request));
    let sentAt = 0;
    let outstanding = 0;
    let count = 0;
    let held: Buffer = noBytes;
    /** A read that was the answers to one write, all of them right: the same bytes are right again. */
    let known: Buffer = noBytes;
    const send = (): void => {
      for (; outstanding < pipelined; outstanding++) this.onSent();
      sentAt = performance.now();
      write(socket, requests);
    };
    const onKnown = (): void => {
      const latencyMs = performance.now() - sentAt;
      let isWanted = false;
      for (; outstanding > 0; outstanding--) {
        this.#latenciesMs.push(latencyMs);
        isWanted = this.onAnswer(true);
      }
      count += pipelined;
      if (isWanted) send();
    };
    const onAnswers = (chunk: Buffer): void => {
      const isWhole = held.length === 0 && outstanding === pipelined && chunk.length <= knownBytesMax;
      let areRight = true;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      while (held.length > 0) {
        const headerEnd = held.indexOf('\r\n\r\n');
        if (headerEnd < 0) return;
        const head = held.toString('latin1', 0, headerEnd);
        const length = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN);
        const total = headerEnd + 4 + length;
        if (held.length < total) return;
        this.#latenciesMs.push(performance.now() - sentAt);
        const isGood = head.startsWith('HTTP/1.1 200') && isRight(held.subarray(headerEnd + 4, total), count++);
        areRight = areRight && isGood;
        held = held.subarray(total);
        outstanding -= 1;
        const isLast = outstanding === 0;
        if (isLast && isWhole && areRight && held.length === 0) known = chunk;
        if (this.onAnswer(isGood) && isLast) send();
      }
    };
    const callback = (length: number): boolean => {
      const isKnown = held.length === 0 && length === known.length && known.compare(buffer, 0, length) === 0;
      if (isKnown && outstanding === pipelined) onKnown();
      else onAnswers(Buffer.from(buffer.subarray(0, length)));
      return true;
    };
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } });
    this.watch(socket);
    return { socket, send };
  }
}
