import { Cancellation, type CancelSignal } from '@millrace/protocol';
import {
  type HeaderFields,
  type HttpRequest,
  MemoryRefused,
  type Peer,
  type RequestBody,
  type RequestMemory,
} from '../exchange.ts';
import type { LentBody, ReadTarget } from './body-pool.ts';
import { SeamBody } from './seam-body.ts';
import type { ExchangeListener, WireExchange } from './wire-exchange.ts';

/** An exchange as a seam request. Body and signal are created when somebody asks for them. */
export class SeamRequest implements HttpRequest, ExchangeListener, RequestMemory {
  readonly exchange: WireExchange;
  #body: SeamBody | undefined = undefined;
  #signal: Cancellation | undefined = undefined;
  /** Resolves the wait of a streamed response for room, or for the client's disconnect. */
  onRoom: (() => void) | undefined = undefined;

  constructor(exchange: WireExchange) {
    this.exchange = exchange;
    exchange.listener = this;
  }

  get method(): string {
    return this.exchange.method;
  }
  get path(): string {
    return this.exchange.path;
  }
  get query(): string {
    return this.exchange.query;
  }
  get authority(): string {
    return this.exchange.authority;
  }
  get version(): '1.0' | '1.1' | '2' {
    return this.exchange.version;
  }
  get headers(): HeaderFields {
    return this.exchange.headers;
  }
  get trailers(): HeaderFields {
    return this.exchange.trailers;
  }
  get peer(): Peer {
    return this.exchange.peer;
  }

  get memory(): RequestMemory {
    return this;
  }

  hold(bytes: number): void {
    if (!this.exchange.holdMore(bytes)) throw new MemoryRefused();
  }

  give(bytes: number): void {
    this.exchange.memory.give(bytes);
  }

  hasRoomToAnswer(bytes: number): boolean {
    return this.exchange.hasRoomToAnswer(bytes);
  }

  get isWaiting(): boolean {
    return this.exchange.isStarved;
  }

  get body(): RequestBody {
    if (this.#body === undefined) {
      this.#body = new SeamBody(this.exchange);
      if (this.exchange.isRefused) this.#body.onRefused();
      else if (this.exchange.abortReason !== undefined) this.#body.onAbort(this.exchange.abortReason);
    }
    return this.#body;
  }

  get signal(): CancelSignal {
    if (this.#signal === undefined) {
      this.#signal = new Cancellation();
      if (this.exchange.abortReason !== undefined) this.#signal.cancel('cancelled');
    }
    return this.#signal;
  }

  onData(piece: Uint8Array): void {
    this.#body?.onData(piece);
  }

  onLentData(piece: Uint8Array): void {
    this.#body?.onLentData(piece);
  }

  readTarget(bytesMax: number): ReadTarget | undefined {
    return this.#body?.readTarget(bytesMax);
  }

  offsetIn(lent: LentBody): number {
    return this.#body?.offsetIn(lent) ?? -1;
  }

  takeWritten(bytes: number, lent: LentBody): boolean {
    return this.#body?.takeWritten(bytes, lent) === true;
  }

  onEnd(): void {
    this.#body?.onEnd();
  }

  onAbort(reason: string): void {
    this.#signal?.cancel('cancelled');
    this.#body?.onAbort(reason);
    this.onDrain();
  }

  onRefused(): void {
    this.#body?.onRefused();
  }

  onDrain(): void {
    const onRoom = this.onRoom;
    this.onRoom = undefined;
    onRoom?.();
  }
}
