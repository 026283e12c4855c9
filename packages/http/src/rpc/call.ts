/**
 * One call: what its handler sees, whatever the protocol, and the order in which things happen. A unary call goes from
 * the last byte of its request to the answer without a promise when the handler does.
 */
import { Cancellation, type CancelReason, type CancelSignal } from '@millrace/protocol';
import type { HeaderList, Peer } from '../exchange.ts';
import { WheelEntry } from '../wire/timing-wheel.ts';
import type { ExchangeListener, WireExchange } from '../wire/wire-exchange.ts';
import {
  accepts,
  byteLengthOf,
  type Compression,
  compress,
  decompress,
  mustReadCompression,
  tooLarge,
} from './compression.ts';
import type { Dialect } from './dialect.ts';
import type { MessageReader, MessageSink } from './envelope.ts';
import { MetadataWriter, noMetadata, RequestMetadata } from './metadata.ts';
import { pump } from './pump.ts';
import { RequestStream } from './request-stream.ts';
import { RpcError } from './rpc-error.ts';
import type { RpcHost } from './rpc-host.ts';
import type { MessageBytes, RpcMethod, StreamCall, StreamResult, UnaryCall } from './service.ts';

/** A method and the service it is of. */
export interface BoundMethod {
  readonly service: string;
  readonly definition: RpcMethod;
}

export class Call extends WheelEntry implements ExchangeListener, MessageSink, UnaryCall<unknown>, StreamCall<unknown> {
  readonly exchange: WireExchange;
  readonly host: RpcHost;
  readonly #method: BoundMethod;
  readonly #dialect: Dialect;
  /** Of the answer; undefined: none. */
  compression: Compression | undefined = undefined;
  isStarted: boolean = false;
  timeoutMs: number | undefined = undefined;
  onRoom: (() => void) | undefined = undefined;
  reader: MessageReader | undefined = undefined;
  #requestCompression: Compression | undefined = undefined;
  #message: Uint8Array | undefined = undefined;
  #requests: RequestStream<unknown> | undefined = undefined;
  #metadata: RequestMetadata | undefined = undefined;
  #leading: MetadataWriter | undefined = undefined;
  #trailing: MetadataWriter | undefined = undefined;
  #cancellation: Cancellation | undefined = undefined;
  #cancelReason: CancelReason | undefined = undefined;
  #endListeners: ((error: RpcError | undefined) => void)[] | undefined = undefined;
  #endError: RpcError | undefined = undefined;
  #stage = 0;
  #isEnded: boolean = false;
  #isHandled: boolean = false;
  #isHeld: boolean = false;

  constructor(exchange: WireExchange, host: RpcHost, method: BoundMethod, dialect: Dialect) {
    super();
    this.exchange = exchange;
    this.host = host;
    this.#method = method;
    this.#dialect = dialect;
    exchange.listener = this;
  }

  get service(): string {
    return this.#method.service;
  }

  get method(): string {
    return this.#method.definition.name;
  }

  get protocol(): 'grpc' | 'grpc-web' | 'connect' {
    return this.#dialect.protocol;
  }

  get peer(): Peer {
    return this.exchange.peer;
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

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get signal(): CancelSignal {
    if (this.#cancellation === undefined) {
      this.#cancellation = new Cancellation();
      if (this.#cancelReason !== undefined) this.#cancellation.cancel(this.#cancelReason);
    }
    return this.#cancellation;
  }

  /** Whether a message is being decompressed, and those behind it wait. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  whenEnded(listener: (error: RpcError | undefined) => void): void {
    if (this.#isEnded) {
      listener(this.#endError);
      return;
    }
    this.#endListeners ??= [];
    this.#endListeners.push(listener);
  }

  /** Looks at the head, then runs interceptors and handler. */
  open(): void {
    const { headers } = this.exchange;
    const dialect = this.#dialect;
    try {
      const problem = dialect.headProblem(headers);
      if (problem !== undefined) throw problem;
      const timeoutMs = dialect.timeoutMsFrom(headers);
      if (timeoutMs !== undefined) this.#limitTime(timeoutMs);
      this.#requestCompression = mustReadCompression(dialect.compressionNameFrom(headers));
      this.compression = this.#answerCompression();
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.host.interceptors.length === 0) this.#begin();
    else this.#intercept(0);
  }

  #limitTime(timeoutMs: number): void {
    if (Number.isNaN(timeoutMs)) throw new RpcError('invalid_argument', 'the time limit of the call cannot be read');
    this.timeoutMs = timeoutMs;
    this.host.deadlines.set(this, timeoutMs);
  }

  #answerCompression(): Compression | undefined {
    const { compression } = this.host;
    if (compression === 'never') return undefined;
    const { headers } = this.exchange;
    const requested = this.#requestCompression;
    if (compression === 'as-request') {
      if (requested === undefined) return undefined;
      const accepted = headers.get(this.#dialect.acceptField);
      return accepted === undefined || accepts(accepted, requested) ? requested : undefined;
    }
    const accepted = headers.get(this.#dialect.acceptField);
    return accepts(accepted, 'gzip') ? 'gzip' : accepts(accepted, 'deflate') ? 'deflate' : undefined;
  }

  #intercept(stage: number): void {
    // An interceptor that goes on twice, or after the end, is not followed.
    if (this.#isEnded || this.#stage > stage) return;
    this.#stage = stage + 1;
    const interceptor = this.host.interceptors[stage];
    if (interceptor === undefined) {
      this.#begin();
      return;
    }
    try {
      interceptor(this, () => this.#intercept(stage + 1));
    } catch (error) {
      this.fail(error);
    }
  }

  #begin(): void {
    if (this.#isEnded) return;
    const { definition } = this.#method;
    if (definition.kind === 'client-stream' || definition.kind === 'bidi') {
      const flow = { pause: () => this.exchange.pause(), resume: () => this.#resume() };
      this.#requests = new RequestStream<unknown>(flow, this.host.limits.waitingMessagesMax);
      this.#run(this.#requests);
    }
    // A handler may have ended the call without asking for anything.
    if (!this.#isEnded) this.#dialect.read(this, this.#requestCompression);
  }

  #resume(): void {
    if (!this.#isHeld && !this.#isEnded) this.exchange.resume();
  }

  onData(piece: Uint8Array): void {
    this.reader?.push(piece);
  }

  onEnd(): void {
    this.reader?.end();
  }

  onMessage(message: Uint8Array, isCompressed: boolean): void {
    if (this.#isEnded) return;
    if (!isCompressed) {
      this.#accept(message);
      return;
    }
    if (this.#requestCompression === undefined) {
      this.fail(new RpcError('internal', 'a message is flagged as compressed, but the request names no compression'));
      return;
    }
    let isDone = false;
    decompress(message, this.#requestCompression, this.host.limits, this.host.arrivals, (error, plain) => {
      isDone = true;
      if (error !== undefined) this.fail(error);
      else if (!this.#isEnded) this.#accept(plain);
      if (this.#isHeld) this.#letGo();
    });
    if (isDone) return;
    this.#isHeld = true;
    this.reader?.hold();
    this.exchange.pause();
  }

  /** A message was decompressed off the event loop: the ones behind it may come. */
  #letGo(): void {
    this.#isHeld = false;
    this.reader?.release();
    this.#resume();
  }

  #accept(bytes: Uint8Array): void {
    const requests = this.#requests;
    if (requests === undefined) {
      if (this.#message === undefined) this.#keep(bytes);
      else this.fail(new RpcError('unimplemented', `${this.method} takes one message, but the caller sent more`));
      return;
    }
    let message: unknown;
    try {
      message = this.#decode(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    requests.accept(message);
  }

  /** The one message of a unary call waits for the end of the request, which may never come. */
  #keep(message: Uint8Array): void {
    const { arrivals } = this.host;
    if (arrivals.take(message.length)) this.#message = message;
    else this.fail(arrivals.refusal());
  }

  #takeMessage(): Uint8Array | undefined {
    const message = this.#message;
    if (message !== undefined) this.host.arrivals.give(message.length);
    this.#message = undefined;
    return message;
  }

  onMessagesEnd(): void {
    if (this.#isEnded) return;
    if (this.#requests !== undefined) {
      this.#requests.acceptEnd();
      return;
    }
    const bytes = this.#takeMessage();
    if (bytes === undefined) {
      this.fail(new RpcError('unimplemented', `${this.method} takes one message, but the caller sent none`));
      return;
    }
    let message: unknown;
    try {
      message = this.#decode(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#run(message);
  }

  onBadMessage(error: RpcError): void {
    this.fail(error);
  }

  #decode(bytes: Uint8Array): unknown {
    const { request } = this.#method.definition;
    try {
      if (this.#dialect.codec === 'proto') return request.fromProto(bytes);
      if (request.fromJson !== undefined) return request.fromJson(bytes);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new RpcError('invalid_argument', `the request message cannot be read: ${why}`);
    }
    throw new RpcError('unimplemented', `${this.method} cannot be called with JSON; use protobuf`);
  }

  #run(input: unknown): void {
    const { definition } = this.#method;
    this.#isHandled = true;
    try {
      switch (definition.kind) {
        case 'unary':
          this.#take(definition.handle(input, this));
          break;
        case 'client-stream':
          this.#take(definition.handle(input as RequestStream<unknown>, this));
          break;
        case 'server-stream':
          this.#follow(definition.handle(input, this));
          break;
        case 'bidi':
          this.#follow(definition.handle(input as RequestStream<unknown>, this));
          break;
      }
    } catch (error) {
      this.fail(error);
    }
  }

  #take(result: unknown): void {
    if (result === undefined) return;
    if (!(result instanceof Promise)) {
      this.answer(result);
      return;
    }
    result.then(
      (message) => this.answer(message),
      (error: unknown) => this.fail(error),
    );
  }

  #follow(result: StreamResult<unknown>): void {
    if (result === undefined) return;
    const isDone = result instanceof Promise ? result : pump(this, result);
    isDone.then(
      () => this.end(),
      (error: unknown) => this.fail(error),
    );
  }

  answer(message: unknown, release?: () => void): void {
    if (this.#isEnded) {
      this.#settle(release);
      return;
    }
    let bytes: MessageBytes;
    let packed: Uint8Array | undefined;
    try {
      bytes = this.#encode(message);
      packed = this.compression === undefined ? undefined : compress(bytes, this.compression, this.host.limits);
    } catch (error) {
      release?.();
      this.fail(error);
      return;
    }
    if (packed === undefined) this.#dialect.answer(this, bytes, false, release);
    else {
      release?.();
      this.#dialect.answer(this, packed, true, undefined);
    }
    this.#finish(undefined);
  }

  send(message: unknown, release?: () => void): boolean {
    if (this.#isEnded) {
      release?.();
      return true;
    }
    let bytes: MessageBytes;
    let packed: Uint8Array | undefined;
    try {
      bytes = this.#encode(message);
      packed = this.compression === undefined ? undefined : compress(bytes, this.compression, this.host.limits);
    } catch (error) {
      release?.();
      this.fail(error);
      return true;
    }
    this.start();
    if (packed === undefined) return this.#dialect.send(this, bytes, false, release);
    release?.();
    return this.#dialect.send(this, packed, true, undefined);
  }

  start(): void {
    if (this.isStarted || this.#isEnded) return;
    this.isStarted = true;
    this.#dialect.start(this);
  }

  #encode(message: unknown): MessageBytes {
    const { response } = this.#method.definition;
    let bytes: MessageBytes;
    if (this.#dialect.codec === 'proto') bytes = response.toProto(message);
    else if (response.toJson !== undefined) bytes = response.toJson(message);
    else throw new RpcError('unimplemented', `${this.method} cannot be answered with JSON; use protobuf`);
    if (byteLengthOf(bytes) > this.host.limits.sendBytesMax) {
      throw tooLarge('the answer', this.host.limits.sendBytesMax);
    }
    return bytes;
  }

  whenRoom(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isEnded) resolve();
      else this.onRoom = resolve;
    });
  }

  end(): void {
    if (this.#isEnded) {
      this.#settle(undefined);
      return;
    }
    this.start();
    this.#dialect.end(this, undefined);
    this.#finish(undefined);
  }

  fail(error: unknown): void {
    if (this.#isEnded) {
      this.#settle(undefined);
      return;
    }
    const rpcError = this.host.errorFrom(error);
    this.#dialect.end(this, rpcError);
    this.#finish(rpcError);
  }

  /** The handler of a call that had ended is done with it: the exchange may be forgotten. */
  #settle(release: (() => void) | undefined): void {
    release?.();
    this.exchange.end();
  }

  #finish(error: RpcError | undefined): void {
    this.#isEnded = true;
    this.#endError = error;
    this.reader?.close();
    this.#takeMessage();
    if (this.slot >= 0) this.host.deadlines.clear(this);
    this.#requests?.acceptError(error ?? callOver);
    this.onDrain();
    const listeners = this.#endListeners;
    if (listeners === undefined) return;
    this.#endListeners = undefined;
    for (const listener of listeners) listener(error);
  }

  onDrain(): void {
    const { onRoom } = this;
    if (onRoom === undefined) return;
    this.onRoom = undefined;
    onRoom();
  }

  onAbort(): void {
    this.#cancel('cancelled');
    if (!this.#isEnded) this.#finish(callerGone);
    // A handler that runs still holds the exchange and gives it up when it is done.
    if (!this.#isHandled) this.exchange.end();
    this.#cancellation?.cancel('cancelled');
  }

  override onDue(): void {
    this.#cancel('deadline-exceeded');
    this.fail(new RpcError('deadline_exceeded', 'the deadline of the call has passed'));
    this.#cancellation?.cancel('deadline-exceeded');
  }

  #cancel(reason: CancelReason): void {
    this.#cancelReason ??= reason;
  }
}

const callerGone = new RpcError('canceled', 'the caller went away');
const callOver = new RpcError('canceled', 'the call has ended');
