/**
 * gRPC calls in a closed loop: N connections with M calls in flight on each, all the same bytes. A call that ends without a
 * message counts as wrong.
 */
import { ClosedLoop } from './closed-loop.ts';
import { FrameConnection } from './frame-connection.ts';

export interface GrpcWork {
  readonly connections: number;
  /** Calls in flight on each connection. */
  readonly streams: number;
  readonly path: string;
  /** The body of the call, its envelope included. */
  readonly body: Uint8Array;
}

export class GrpcLoop extends ClosedLoop {
  readonly #connections: readonly FrameConnection[];
  readonly #streams: number;

  constructor(port: number, work: GrpcWork) {
    super();
    this.#streams = work.streams;
    this.#connections = Array.from({ length: work.connections }, () => this.#connect(port, work));
  }

  override close(): void {
    for (const { socket } of this.#connections) socket.destroy();
  }

  protected override sendFirst(): void {
    for (const connection of this.#connections)
      for (let stream = 0; stream < this.#streams; stream++) this.#call(connection);
  }

  #call(connection: FrameConnection): void {
    this.onSent();
    connection.call();
  }

  #connect(port: number, { path, body }: GrpcWork): FrameConnection {
    const withMessage = new Set<number>();
    const connection = new FrameConnection(port, path, body, {
      onData: (id) => withMessage.add(id),
      onEnd: (id, isReset) => {
        const hasMessage = withMessage.delete(id);
        if (this.onAnswer(hasMessage && !isReset)) this.#call(connection);
      },
    });
    this.watch(connection.socket);
    return connection;
  }
}
