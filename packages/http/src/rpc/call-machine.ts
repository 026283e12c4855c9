/**
 * One call from its first byte to its end, whatever the protocol. A unary call needs no promise between the last byte
 * of its request and the answer, unless its handler returns one.
 */
import type { Compression } from '../answer-packing.ts';
import { MemoryRefused } from '../exchange.ts';
import type { LentBody, ReadTarget } from '../wire/body-pool.ts';
import { type BodyLender, keptCopyOf } from '../wire/byte-gatherer.ts';
import type { ExchangeListener, WireExchange } from '../wire/wire-exchange.ts';
import {
  answerCompression,
  byteLengthOf,
  decompressMessage,
  isWorthCompressing,
  mustReadCompression,
  piecesOf,
} from './compression.ts';
import type { Dialect } from './dialect.ts';
import { envelopePrefixBytes, type MessageReader, type MessageSink } from './envelope.ts';
import { decodeMessage, encodeMessage } from './message-coding.ts';
import { pump } from './pump.ts';
import { type RequestFlow, RequestStream } from './request-stream.ts';
import { type BoundMethod, RpcCallState } from './rpc-call-state.ts';
import { RpcError } from './rpc-error.ts';
import type { RpcHost } from './rpc-host.ts';
import type { MessageBytes, PlaceMessage, StreamCall, StreamResult, UnaryCall } from './service.ts';

const callerGone = new RpcError('canceled', 'the caller went away');
const callOver = new RpcError('canceled', 'the call has ended');

export class CallMachine
  extends RpcCallState
  implements ExchangeListener, MessageSink, RequestFlow, UnaryCall<unknown>, StreamCall<unknown>
{
  /** Compression of the answer; undefined: none. */
  compression: Compression | undefined = undefined;
  isStarted: boolean = false;
  onRoom: (() => void) | undefined = undefined;
  reader: MessageReader | undefined = undefined;
  #requestCompression: Compression | undefined = undefined;
  #message: Uint8Array | undefined = undefined;
  #tail: Uint8Array | undefined = undefined;
  /** Memory of the message, if it was lent and is not released. */
  #lent: LentBody | undefined = undefined;
  #requests: RequestStream<unknown> | undefined = undefined;
  #interceptorsRun = 0;
  #isHandled: boolean = false;
  #isHeld: boolean = false;
  /** The handler takes no messages now. */
  #isPaused: boolean = false;
  /** The answer is being compressed. */
  #isPacking: boolean = false;

  constructor(exchange: WireExchange, host: RpcHost, bound: BoundMethod, dialect: Dialect) {
    super(exchange, host, bound, dialect);
    exchange.listener = this;
  }

  /** Whether a message is being decompressed, and later ones wait. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Lends memory for its messages, where the handler says when it is finished with them. */
  get lender(): BodyLender | undefined {
    return this.bound.definition.isRequestLent === true && this.dialect.codec === 'proto' ? this.exchange : undefined;
  }

  /** Where its messages are placed, if anywhere. */
  get place(): PlaceMessage | undefined {
    return this.lender && this.bound.definition.placeRequest;
  }

  /** Checks the head, then runs interceptors and handler. */
  open(): void {
    const { dialect, host } = this;
    const { headers } = this.exchange;
    try {
      const problem = dialect.headProblem(headers);
      if (problem !== undefined) throw problem;
      const timeoutMs = dialect.timeoutMsFrom(headers);
      if (timeoutMs !== undefined) this.#limitTime(timeoutMs);
      const requested = mustReadCompression(dialect.compressionNameFrom(headers));
      this.#requestCompression = requested;
      if (requested !== undefined || host.compression !== 'as-request') {
        this.compression = answerCompression(host.compression, requested, headers.get(dialect.acceptField));
      }
    } catch (error) {
      this.fail(error);
      return;
    }
    if (host.interceptors.length === 0) this.#begin();
    else this.#intercept(0);
  }

  #limitTime(timeoutMs: number): void {
    if (Number.isNaN(timeoutMs)) throw new RpcError('invalid_argument', 'the timeout header of the call is invalid');
    this.timeoutMs = timeoutMs;
    this.host.deadlines.set(this, timeoutMs);
  }

  #intercept(position: number): void {
    // An interceptor that calls `next` twice, or after the end, is ignored.
    if (this.isEnded || this.#interceptorsRun > position) return;
    this.#interceptorsRun = position + 1;
    const interceptor = this.host.interceptors[position];
    if (interceptor === undefined) {
      this.#begin();
      return;
    }
    try {
      interceptor(this, () => this.#intercept(position + 1));
    } catch (error) {
      this.fail(error);
    }
  }

  #begin(): void {
    const { kind } = this.bound.definition;
    const { exchange } = this;
    // For a stream only the rest of a message has a time limit, for other calls the whole request.
    exchange.isBodyDue = kind === 'unary' || kind === 'server-stream';
    if (!exchange.isBodyDue) {
      this.#requests = new RequestStream<unknown>(this, this.host.limits);
      this.#run(this.#requests);
    }
    // A handler may have ended the call without asking for anything.
    if (!this.isEnded) this.dialect.read(this, this.#requestCompression);
  }

  /** Messages that have arrived stay undecoded: as bytes they take no more memory than is counted for them. */
  pauseRequests(): void {
    this.#isPaused = true;
    this.reader?.hold();
    this.exchange.pause();
  }

  /**
   * Before there is a reader, data would be lost, above all the end of an empty body; the reader starts the body
   * itself.
   */
  resumeRequests(): void {
    const wasPaused = this.#isPaused;
    this.#isPaused = false;
    if (this.reader === undefined || this.#isHeld) return;
    if (wasPaused) this.reader.release();
    if (!this.#isPaused && !this.#isHeld && !this.isEnded) this.exchange.resume();
  }

  onData(piece: Uint8Array): void {
    const { reader } = this;
    if (reader === undefined) return;
    reader.push(piece);
    if (this.#requests !== undefined) this.exchange.isBodyDue = reader.isMidMessage;
  }

  onLentData(piece: Uint8Array): void {
    const { reader } = this;
    if (reader?.pushLent === undefined) {
      this.onData(keptCopyOf(piece));
      return;
    }
    reader.pushLent(piece);
    if (this.#requests !== undefined) this.exchange.isBodyDue = reader.isMidMessage;
  }

  readTarget(bytesMax: number): ReadTarget | undefined {
    return this.reader?.readTarget?.(bytesMax);
  }

  offsetIn(lent: LentBody): number {
    return this.reader?.offsetIn?.(lent) ?? -1;
  }

  takeWritten(bytes: number, lent: LentBody): boolean {
    const { reader } = this;
    if (reader?.takeWritten?.(bytes, lent) !== true) return false;
    if (this.#requests !== undefined) this.exchange.isBodyDue = reader.isMidMessage;
    return true;
  }

  onEnd(): void {
    this.reader?.end();
  }

  onMessage(message: Uint8Array, isCompressed: boolean, lent: LentBody | undefined, tail?: Uint8Array): void {
    if (this.isEnded || this.#lent !== undefined) {
      // A second message is refused below, and is not read.
      lent?.release();
      if (this.isEnded) return;
    } else {
      this.#lent = lent;
      this.#tail = tail;
    }
    if (!isCompressed) {
      this.#accept(message, envelopePrefixBytes + message.length);
      return;
    }
    if (this.#requestCompression === undefined) {
      this.fail(new RpcError('internal', 'a message is flagged as compressed, but the request names no compression'));
      return;
    }
    let isDone = false;
    const { unpacking } = this.host;
    const limits = { ...this.host.limits, receiveBytesMax: this.receiveBytesMax };
    decompressMessage(message, this.#requestCompression, limits, unpacking, this.exchange, (error, plain) => {
      isDone = true;
      if (error !== undefined) this.fail(error);
      else if (!this.isEnded) this.#accept(plain, envelopePrefixBytes + message.length + plain.length);
      if (this.#isHeld) this.#letGo();
    });
    if (isDone) return;
    this.#isHeld = true;
    this.reader?.hold();
    this.exchange.pause();
  }

  /** A message was decompressed off the event loop: later ones may be delivered. */
  #letGo(): void {
    this.#isHeld = false;
    // While the handler reads nothing, later ones wait.
    if (this.#isPaused) return;
    this.reader?.release();
    this.resumeRequests();
  }

  /** `heldBytes` is the memory that the message takes, compressed and decompressed. */
  #accept(bytes: Uint8Array, heldBytes: number): void {
    const requests = this.#requests;
    if (requests === undefined) {
      if (this.#message === undefined) this.#message = bytes;
      else this.fail(new RpcError('unimplemented', `${this.method} takes one message, but the caller sent more`));
      return;
    }
    let message: unknown;
    try {
      message = decodeMessage(this.bound.definition, this.dialect.codec, bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    requests.accept(message, heldBytes);
  }

  onMessagesEnd(): void {
    if (this.isEnded) return;
    if (this.#requests !== undefined) {
      this.#requests.acceptEnd();
      return;
    }
    const bytes = this.#message;
    if (bytes === undefined) {
      this.fail(new RpcError('unimplemented', `${this.method} takes one message, but the caller sent none`));
      return;
    }
    const tail = this.#tail;
    this.#message = undefined;
    this.#tail = undefined;
    let message: unknown;
    try {
      message = decodeMessage(this.bound.definition, this.dialect.codec, bytes, tail);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#run(message);
  }

  onBadMessage(error: RpcError): void {
    this.fail(error);
  }

  #run(input: unknown): void {
    const { definition } = this.bound;
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
      this.#releaseLent();
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
    if (this.isEnded || this.#isPacking) {
      release?.();
      if (this.isEnded) this.#letExchangeGo();
      return;
    }
    const encoded = this.#takeEncoded(message, release);
    if (encoded === undefined) return;
    const { compression } = this;
    const bytes = compression === undefined ? 0 : byteLengthOf(encoded);
    const { limits, packing } = this.host;
    if (compression === undefined || !isWorthCompressing(bytes, limits)) this.#answer(encoded, false, release);
    else if (packing.isQuick(bytes)) {
      const packed = packing.packNow(piecesOf(encoded), bytes, compression);
      release?.();
      this.#answer(packed, true, undefined);
    } else this.#packLater(encoded, bytes, compression, release);
  }

  releaseRequest(): void {
    this.#releaseLent();
  }

  #releaseLent(): void {
    const lent = this.#lent;
    this.#lent = undefined;
    lent?.release();
  }

  #answer(bytes: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void {
    if (!this.exchange.hasRoomToAnswer(byteLengthOf(bytes))) {
      release?.();
      this.onRefused();
      return;
    }
    this.dialect.answer(this, bytes, isCompressed, release);
    this.#finish(undefined);
  }

  /** Compresses a large answer off the event loop; meanwhile it is held in addition to the request. */
  #packLater(answer: MessageBytes, bytes: number, compression: Compression, release: (() => void) | undefined): void {
    if (!this.exchange.hasRoomToKeep(bytes)) {
      release?.();
      this.onRefused();
      return;
    }
    this.#isPacking = true;
    this.count(bytes);
    const done = (): void => {
      this.#isPacking = false;
      this.give(bytes);
      release?.();
    };
    const packedFor = { owner: this.peer.owner, signal: this.signal };
    this.host.packing.packLater(piecesOf(answer), compression, packedFor).then(
      (packed) => {
        done();
        if (this.isEnded) this.#letExchangeGo();
        else this.#answer(packed, true, undefined);
      },
      (error: unknown) => {
        done();
        this.fail(error);
      },
    );
  }

  send(message: unknown, release?: () => void): boolean {
    if (this.isEnded) {
      release?.();
      return true;
    }
    const encoded = this.#takeEncoded(message, release);
    if (encoded === undefined) return true;
    this.start();
    const { compression } = this;
    const bytes = compression === undefined ? 0 : byteLengthOf(encoded);
    const { limits, packing } = this.host;
    if (compression === undefined || !isWorthCompressing(bytes, limits) || !packing.isQuick(bytes)) {
      return this.dialect.send(this, encoded, false, release);
    }
    const packed = packing.packNow(piecesOf(encoded), bytes, compression);
    release?.();
    return this.dialect.send(this, packed, true, undefined);
  }

  /** A message that cannot be sent ends the call. */
  #takeEncoded(message: unknown, release: (() => void) | undefined): MessageBytes | undefined {
    const { codec, sendBytesMax = Number.POSITIVE_INFINITY } = this.dialect;
    try {
      const bytesMax = Math.min(this.host.limits.sendBytesMax, sendBytesMax);
      return encodeMessage(this.bound.definition, codec, message, bytesMax);
    } catch (error) {
      release?.();
      this.fail(error);
      return undefined;
    }
  }

  start(): void {
    if (this.isStarted || this.isEnded) return;
    this.isStarted = true;
    this.dialect.start(this);
  }

  whenRoom(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isEnded) resolve();
      else this.onRoom = resolve;
    });
  }

  end(): void {
    if (this.isEnded) {
      this.#letExchangeGo();
      return;
    }
    this.start();
    this.dialect.end(this, undefined);
    this.#finish(undefined);
  }

  override fail(error: unknown): void {
    if (this.isEnded) {
      this.#letExchangeGo();
      return;
    }
    const rpcError = this.host.errorFrom(error);
    this.dialect.end(this, rpcError);
    if (!this.#isHandled) this.host.onRefused(this, rpcError);
    this.#finish(rpcError);
  }

  /** The handler of a call that had ended is finished: the exchange can be released. */
  #letExchangeGo(): void {
    this.exchange.end();
  }

  #finish(error: RpcError | undefined): void {
    this.markEnded(error);
    this.reader?.close();
    this.#message = undefined;
    this.#tail = undefined;
    // A handler that runs may still read the message.
    if (!this.#isHandled) this.#releaseLent();
    this.#requests?.acceptError(error ?? callOver);
    this.onDrain();
    this.tellEnd();
  }

  onDrain(): void {
    const { onRoom } = this;
    if (onRoom === undefined) return;
    this.onRoom = undefined;
    onRoom();
  }

  onRefused(): void {
    const cause = new MemoryRefused();
    this.fail(new RpcError('resource_exhausted', cause.message, [], { cause }));
  }

  onAbort(): void {
    if (!this.isEnded) {
      if (!this.#isHandled) this.host.onRefused(this, callerGone);
      this.#finish(callerGone);
    }
    // A running handler still holds the exchange and releases it when it has finished.
    if (!this.#isHandled) this.exchange.end();
    this.cancel('cancelled');
  }

  override onDue(): void {
    this.fail(new RpcError('deadline_exceeded', 'the deadline of the call has passed'));
    this.cancel('deadline-exceeded');
  }
}
