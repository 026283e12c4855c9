import { BodyPool } from '../body-pool.ts';
import { type HttpLimitOptions, type HttpLimits, resolveHttpLimits } from '../config.ts';
import type { ConnectionHost, HostParts, OwnerOf } from '../connection-host.ts';
import { type ServerMemory, unlimitedMemory } from '../memory.ts';
import { OutputArena } from '../output.ts';
import { TimingWheel } from '../timing-wheel.ts';
import type { Connection } from '../transport.ts';
import type { WireHandler } from '../wire-exchange.ts';

/** What connections share, with time and the end of the tick in the test's hands. */
export class MemoryHost implements ConnectionHost {
  readonly limits: HttpLimits;
  readonly wheel: TimingWheel;
  readonly arena = new OutputArena();
  handler: WireHandler;
  readonly memory: ServerMemory;
  readonly bodies: BodyPool;
  requestsPerTurn: number = Number.POSITIVE_INFINITY;
  readonly ownerOf: OwnerOf | undefined;
  #nowMs = 1_000_000;
  #waiting: Connection[] = [];

  constructor(handler: WireHandler, options: HttpLimitOptions = {}, parts: HostParts = {}) {
    this.limits = resolveHttpLimits(options);
    this.memory = parts.memory ?? unlimitedMemory;
    // A test has no use for memory that is free, and a use after release must show.
    this.bodies = parts.bodies ?? new BodyPool({ isPoisoned: true, after: () => {} });
    this.ownerOf = parts.ownerOf;
    this.handler = handler;
    this.wheel = new TimingWheel({ nowMs: () => this.#nowMs });
  }

  dateNow(): string {
    return 'Thu, 01 Jan 1970 00:00:00 GMT';
  }

  flushLater(connection: Connection): void {
    this.#waiting.push(connection);
  }

  /** The end of the tick. */
  settle(): void {
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const connection of waiting) connection.flush();
    }
  }

  /** Lets time pass, tick by tick as the interval would. */
  pass(ms: number): void {
    const end = this.#nowMs + ms;
    while (this.#nowMs < end) {
      this.#nowMs = Math.min(end, this.#nowMs + 100);
      this.wheel.advance();
      this.settle();
    }
  }
}
