/** Reads the first bytes of a connection, which tell whether it uses HTTP/2 or HTTP/1.1. */
import { clientPreface } from '@millrace/http2';
import { drainQuietMs } from './connection-check.ts';
import type { ConnectionHost } from './connection-host.ts';
import { WheelEntry } from './timing-wheel.ts';
import type { Connection, Transport } from './transport.ts';

/**
 * `PRI` is not a method of HTTP/1.1, and no method that begins with these letters ends before the space behind them.
 */
const tellingBytes = 4;

export class Sniffer extends WheelEntry implements Connection {
  readonly #host: ConnectionHost;
  readonly #transport: Transport;
  readonly #choose: (isHttp2: boolean) => Connection;
  readonly idleSinceMs: number;
  #held: Buffer = Buffer.alloc(0);
  #isDraining: boolean = false;

  /** `choose` creates the connection that takes over. */
  constructor(host: ConnectionHost, transport: Transport, choose: (isHttp2: boolean) => Connection) {
    super();
    this.#host = host;
    this.#transport = transport;
    this.#choose = choose;
    this.idleSinceMs = host.wheel.nowMs;
    host.wheel.set(this, host.wheel.nowMs + host.limits.prefaceMsMax);
  }

  receive(bytes: Buffer): void {
    const held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const compared = Math.min(held.length, tellingBytes);
    const isPreface = clientPreface.compare(held, 0, compared, 0, compared) === 0;
    if (isPreface && compared < tellingBytes) {
      this.#held = held;
      return;
    }
    this.#host.wheel.clear(this);
    const next = this.#choose(isPreface);
    if (this.#isDraining) next.drain();
    next.receive(held);
  }

  receiveEnd(): void {
    this.#transport.end();
  }

  override onDue(): void {
    this.#transport.destroy();
  }

  onClosed(): void {
    this.#host.wheel.clear(this);
  }

  /** The first request may be in transit: it closes if none arrives. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#host.wheel.set(this, this.#host.wheel.nowMs + drainQuietMs);
  }

  endIdle(): void {
    this.#transport.end();
  }

  onWritable(): void {}
  flush(): void {}
}
