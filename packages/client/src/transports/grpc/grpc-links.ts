/** Streams as calls of `millrace.v1.InferenceService/Stream`, frames as messages both ways. */
import type { OpenFrame, StreamClientFrame } from '@millrace/protocol';
import { MalformedMessage } from '@millrace/protocol';
import { MillraceError, unreachable } from '../../errors/millrace-error.ts';
import { decodeServerFrame } from '../../frames/read-server-frame.ts';
import { encodeClientFrame } from '../../frames/write-client-frame.ts';
import { errorFromOutcome } from '../rpc/error-from-outcome.ts';
import { streamMethodPath, withPrefix } from '../rpc/rpc-call.ts';
import type { AttemptContext, LinkListener, LinkTransport, TransportLink } from '../transport.ts';
import type { ConnectionPool, PoolCall } from './connection-pool.ts';

export class GrpcLinkTransport implements LinkTransport {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  connect(open: OpenFrame, context: AttemptContext, listener: LinkListener): TransportLink {
    return new GrpcLink(this.#pool, open, context, listener);
  }

  /** The pool is closed with the calls. */
  close(): void {}
}

class GrpcLink implements TransportLink {
  readonly #call: PoolCall;
  readonly #listener: LinkListener;
  #isOver: boolean = false;

  constructor(pool: ConnectionPool, open: OpenFrame, context: AttemptContext, listener: LinkListener) {
    this.#listener = listener;
    this.#call = pool.begin(streamMethodPath, context, withPrefix(encodeClientFrame(open)), false, {
      onHead: () => {},
      onMessage: (message) => this.#onMessage(message),
      onEnd: (outcome) => {
        // Status OK without `ended` is a lost connection too.
        const error = errorFromOutcome(outcome) ?? unreachable('the call ended before the stream', true);
        this.#end(error);
      },
    });
  }

  readonly ping = (): void => {
    this.#call.ping(() => {
      if (!this.#isOver) this.#listener.onActivity();
    });
  };

  send(frame: StreamClientFrame): void {
    if (!this.#isOver) this.#call.send(withPrefix(encodeClientFrame(frame)), false);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.stop();
  }

  #onMessage(message: Uint8Array): void {
    if (this.#isOver) return;
    try {
      const frame = decodeServerFrame(message);
      if (frame === undefined) this.#listener.onActivity();
      else this.#listener.onFrame(frame);
    } catch (error) {
      if (!(error instanceof MalformedMessage || error instanceof MillraceError)) throw error;
      this.#call.stop();
      this.#end(unreachable(error.message, true, error));
    }
  }

  #end(error: MillraceError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.onClose(error);
  }
}
