/** What the connections of one server share. */
import type { Peer } from '../exchange.ts';
import { BodyPool } from './body-pool.ts';
import type { HttpLimits } from './config.ts';
import type { FieldList } from './field-list.ts';
import { type ConnectionMemory, type ServerMemory, unlimitedMemory } from './memory.ts';
import { OutputArena } from './output.ts';
import { TimingWheel, type WheelClock } from './timing-wheel.ts';
import type { Connection } from './transport.ts';
import type { WireHandler } from './wire-exchange.ts';

/** Undefined: the owner follows from the address of the connection. */
export type OwnerOf = (headers: FieldList, peer: Peer) => string | undefined;

export interface HostParts {
  /** If left out, requests may hold any amount. */
  readonly memory?: ServerMemory | undefined;
  /** Memory for large bodies; if left out, the server has its own. */
  readonly bodies?: BodyPool | undefined;
  readonly ownerOf?: OwnerOf | undefined;
}

/** Memory of a request: its connection's, or a part of its own where a gateway forwards requests of many owners. */
export function memoryFor(
  host: Pick<ConnectionHost, 'memory' | 'ownerOf'>,
  connection: ConnectionMemory,
  headers: FieldList,
  peer: Peer,
): ConnectionMemory {
  const owner = host.ownerOf?.(headers, peer);
  return owner === undefined ? connection : host.memory.guest(owner);
}

export interface ConnectionHost {
  readonly limits: HttpLimits;
  readonly wheel: TimingWheel;
  readonly arena: OutputArena;
  readonly handler: WireHandler;
  readonly memory: ServerMemory;
  readonly bodies: BodyPool;
  /** Requests of one connection that are started in one turn of the event loop. */
  readonly requestsPerTurn: number;
  /** The owner of a request, where it does not follow from the address of its connection. */
  readonly ownerOf: OwnerOf | undefined;
  /** The value of a `date` field for the current time. */
  dateNow(): string;
  /** Schedules a flush of the connection for the end of the current tick. */
  flushLater(connection: Connection): void;
}

/** The host of a live server: real time, and flushes at the end of the tick. */
export class SharedHost implements ConnectionHost {
  readonly limits: HttpLimits;
  readonly wheel: TimingWheel;
  readonly arena = new OutputArena();
  readonly handler: WireHandler;
  readonly memory: ServerMemory;
  readonly bodies: BodyPool;
  readonly requestsPerTurn: number = 16;
  readonly ownerOf: OwnerOf | undefined;
  #second = 0;
  #date = '';
  #waiting: Connection[] = [];
  readonly #flushWaiting = () => this.#flushAll();

  constructor(
    limits: HttpLimits,
    handler: WireHandler,
    parts: HostParts = {},
    clock: WheelClock = { nowMs: () => performance.now() },
  ) {
    this.limits = limits;
    this.memory = parts.memory ?? unlimitedMemory;
    this.bodies = parts.bodies ?? new BodyPool();
    this.ownerOf = parts.ownerOf;
    this.wheel = new TimingWheel(clock);
    this.handler = handler;
  }

  dateNow(): string {
    const now = Date.now();
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#date = new Date(now).toUTCString();
    }
    return this.#date;
  }

  flushLater(connection: Connection): void {
    this.#waiting.push(connection);
    if (this.#waiting.length === 1) process.nextTick(this.#flushWaiting);
  }

  #flushAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const connection of waiting) connection.flush();
  }
}
