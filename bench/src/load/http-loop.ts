/** HTTP/1.1 requests in a closed loop: keep-alive connections, each with one request or one write of several in flight; answers cut by content-length. */
import { connect, type Socket } from 'node:net';
import { ClosedLoop } from './closed-loop.ts';

export interface HttpWork {
  readonly connections: number;
  /** The whole request as it goes on the wire. */
  readonly request: Uint8Array;
  /** Requests that a connection sends in one write, without waiting for answers; 1 unless given. */
  readonly pipelined?: number;
  /** Checks the body of an answer with status 200; `count`: how many of them the connection has had before. */
  isRight(body: Buffer, count: number): boolean;
}

interface Connection {
  readonly socket: Socket;
  send(): void;
}

export class HttpLoop extends ClosedLoop {
  readonly #connections: readonly Connection[];
  #latenciesMs: number[] = [];

  constructor(port: number, work: HttpWork) {
    super();
    this.#connections = Array.from({ length: work.connections }, () => this.#connect(port, work));
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

  #connect(port: number, { request, isRight, pipelined = 1 }: HttpWork): Connection {
    const socket = connect(port, '127.0.0.1');
    const requests = pipelined === 1 ? request : Buffer.concat(Array<Uint8Array>(pipelined).fill(request));
    let sentAt = 0;
    let outstanding = 0;
    let count = 0;
    let held: Buffer = Buffer.alloc(0);
    const send = (): void => {
      for (; outstanding < pipelined; outstanding++) this.onSent();
      sentAt = performance.now();
      socket.write(requests);
    };
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
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
        held = held.subarray(total);
        outstanding -= 1;
        if (this.onAnswer(isGood) && outstanding === 0) send();
      }
    });
    this.watch(socket);
    return { socket, send };
  }
}
