/** The state of a call that handlers and interceptors see, and its cancellation. */
import { Cancellation, type CancelReason, type CancelSignal } from '@millrace/protocol';
import type { HeaderList, Peer } from '../exchange.ts';
import { WheelEntry } from '../wire/timing-wheel.ts';
import type { WireExchange } from '../wire/wire-exchange.ts';
import type { Dialect } from './dialect.ts';
import { MetadataWriter, noMetadata, RequestMetadata } from './metadata.ts';
import type { RpcError } from './rpc-error.ts';
import type { RpcHost } from './rpc-host.ts';
import type { CallMemory, RpcCall, RpcMethod } from './service.ts';

/** A method with its service. */
export interface BoundMethod {
  readonly service: string;
  readonly definition: RpcMethod;
}

/** It is itself the wheel entry of its deadline, which saves an object. Parts are created when first asked for. */
export abstract class RpcCallState extends WheelEntry implements RpcCall, CallMemory {
  readonly exchange: WireExchange;
  readonly host: RpcHost;
  protected readonly bound: BoundMethod;
  protected readonly dialect: Dialect;
  timeoutMs: number | undefined = undefined;
  subject = '';
  #metadata: RequestMetadata | undefined = undefined;
  #leading: MetadataWriter | undefined = undefined;
  #trailing: MetadataWriter | undefined = undefined;
  #cancellation: Cancellation | undefined = undefined;
  #cancelReason: CancelReason | undefined = undefined;
  #endListeners: readonly ((error: RpcError | undefined) => void)[] | undefined = undefined;
  #endError: RpcError | undefined = undefined;
  #isEnded: boolean = false;

  constructor(exchange: WireExchange, host: RpcHost, bound: BoundMethod, dialect: Dialect) {
    super();
    this.exchange = exchange;
    this.host = host;
    this.bound = bound;
    this.dialect = dialect;
  }

  abstract fail(error: unknown): void;

  get service(): string {
    return this.bound.service;
  }

  get method(): string {
    return this.bound.definition.name;
  }

  get protocol(): 'grpc' | 'grpc-web' | 'connect' {
    return this.dialect.protocol;
  }

  get peer(): Peer {
    return this.exchange.peer;
  }

  /** The largest message it accepts. */
  get receiveBytesMax(): number {
    return Math.min(
      this.host.limits.receiveBytesMax,
      this.bound.definition.request.bytesMax ?? Number.POSITIVE_INFINITY,
    );
  }

  get memory(): CallMemory {
    return this;
  }

  hasRoomToKeep(bytes: number): boolean {
    return this.exchange.hasRoomToKeep(bytes);
  }

  count(bytes: number): void {
    this.exchange.memory.count(bytes);
  }

  give(bytes: number): void {
    this.exchange.memory.give(bytes);
  }

  get query(): string {
    return this.exchange.query;
  }

  get metadata(): RequestMetadata {
    this.#metadata ??= new RequestMetadata(this.exchange.headers);
    return this.#metadata;
  }

  get leading(): MetadataWriter {
    this.#leading ??= new MetadataWriter();
    return this.#leading;
  }

  get trailing(): MetadataWriter {
    this.#trailing ??= new MetadataWriter();
    return this.#trailing;
  }

  get leadingFields(): HeaderList {
    return this.#leading === undefined ? noMetadata : this.#leading.fields;
  }

  get trailingFields(): HeaderList {
    return this.#trailing === undefined ? noMetadata : this.#trailing.fields;
  }

  get signal(): CancelSignal {
    if (this.#cancellation === undefined) {
      this.#cancellation = new Cancellation();
      if (this.#cancelReason !== undefined) this.#cancellation.cancel(this.#cancelReason);
    }
    return this.#cancellation;
  }

  /** Nothing more is sent or delivered. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  whenEnded(listener: (error: RpcError | undefined) => void): void {
    if (this.#isEnded) {
      listener(this.#endError);
      return;
    }
    // No larger than needed: one that grows has room for 17.
    this.#endListeners = this.#endListeners === undefined ? [listener] : [...this.#endListeners, listener];
  }

  /** Fires the signal, now or when somebody asks for it. */
  protected cancel(reason: CancelReason): void {
    this.#cancelReason ??= reason;
    this.#cancellation?.cancel(this.#cancelReason);
  }

  protected markEnded(error: RpcError | undefined): void {
    this.#isEnded = true;
    this.#endError = error;
    if (this.bucket >= 0) this.host.deadlines.clear(this);
  }

  protected tellEnd(): void {
    const listeners = this.#endListeners;
    if (listeners === undefined) return;
    this.#endListeners = undefined;
    for (const listener of listeners) listener(this.#endError);
  }
}
