/**
 * The server's end of an HTTP/1.1 connection (RFC 9112): bytes in by `receive`, bytes out through the transport, one
 * request at a time to the host's handler. Pipelined requests wait, so answers keep their order.
 */
import type { HeaderList } from '../exchange.ts';
import type { ReadTarget } from '../wire/body-pool.ts';
import { keptCopyOf } from '../wire/byte-gatherer.ts';
import { type ConnectionHost, memoryFor } from '../wire/connection-host.ts';
import { type FieldList, noFields } from '../wire/field-list.ts';
import { inputTurns } from '../wire/input-turns.ts';
import { LateBytes } from '../wire/late-bytes.ts';
import type { ConnectionMemory, MemoryHolder, MemoryLease } from '../wire/memory.ts';
import { Output } from '../wire/output.ts';
import type { Connection, Transport } from '../wire/transport.ts';
import type { OnUpgrade, ProtocolUpgrade } from '../wire/upgrade.ts';
import { piecesPerTurn, type YieldingConnection, yieldTurn } from '../wire/yield-turn.ts';
import { Http1Times } from './connection-times.ts';
import { Http1Exchange } from './exchange.ts';
import { Http1Refusal } from './refusal.ts';
import { type Http1Head, notHttp } from './request-head.ts';
import { RequestReader, type RequestSink } from './request-reader.ts';
import { type ConnectionOption, type Framing, ResponseHeads, responseHead } from './response-head.ts';
import { StandingAnswer } from './standing-answer.ts';

export interface UpgradeSeam {
  readonly onUpgrade: OnUpgrade;
  /** The transport belongs to this connection from now on. */
  readonly switchTo: (connection: Connection) => void;
}

/** Arrived bytes are counted whether there is memory for them or not, so nothing waits. */
const waitsForNothing: MemoryHolder = { onMemory: () => {} };

export class Http1Connection implements Connection, RequestSink, YieldingConnection {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly #output: Output;
  readonly #reader: RequestReader;
  readonly #times: Http1Times;
  readonly #heads = new ResponseHeads();
  readonly #late = new LateBytes();
  /** Of the last request, if it has one. */
  #standing: StandingAnswer | undefined = undefined;
  readonly #upgrades: UpgradeSeam | undefined;
  readonly #memory: ConnectionMemory;
  /** Lease for bytes behind the request that is being answered; undefined until there were any. */
  #pipelined: MemoryLease | undefined = undefined;
  #exchange: Http1Exchange | undefined = undefined;
  /** Body bytes discarded since the answer was sent. */
  #discardedBytes = 0;
  #isClosing: boolean = false;
  #isReceiving: boolean = false;
  /** What is being read is valid until `receiveLent` returns. */
  #isInputLent: boolean = false;
  #isFlushQueued: boolean = false;
  #isPaused: boolean = false;
  #piecesOfChunk = 0;
  #requestsOfTurn = 0;
  isYielding: boolean = false;
  /** Pipelined requests wait for a later turn. */
  #isTurnAwaited: boolean = false;
  #isDraining: boolean = false;
  /** The next request waits until the client has taken more of the answers before it. */
  #isRoomAwaited: boolean = false;
  isClosed: boolean = false;

  constructor(host: ConnectionHost, transport: Transport, upgrades?: UpgradeSeam) {
    this.host = host;
    this.transport = transport;
    this.#upgrades = upgrades;
    this.#memory = host.memory.connection(transport.peer.owner);
    this.#output = new Output(host.arena, transport);
    this.#reader = new RequestReader(this, host.limits);
    this.#times = new Http1Times(this);
  }

  get isInputHeld(): boolean {
    return this.#isPaused;
  }

  get isRoomy(): boolean {
    return this.#output.unsentBytes < this.host.limits.outputBytesMax;
  }

  /** Requests that came behind the last answer wait for a turn, or for room. */
  get isNextAwaited(): boolean {
    return this.#isTurnAwaited || this.#isRoomAwaited;
  }

  /** The request in progress. */
  get exchange(): Http1Exchange | undefined {
    return this.#exchange;
  }

  get isInHead(): boolean {
    return this.#reader.isInHead;
  }

  get idleSinceMs(): number {
    const isTaken = this.#exchange !== undefined || this.#isTurnAwaited;
    const isBusy = isTaken || this.isClosed || this.#output.unsentBytes > 0;
    return isBusy ? Number.POSITIVE_INFINITY : this.#times.restingSinceMs;
  }

  /** The rest of a body is expected: because it was asked for, or to be discarded. */
  get isBodyAwaited(): boolean {
    const exchange = this.#exchange;
    if (!this.#reader.isInBody) return false;
    if (exchange === undefined || exchange.isSettled) return true;
    return exchange.isFlowing && exchange.isBodyDue && !exchange.isStarved;
  }

  receive(bytes: Buffer): void {
    if (this.isClosed || this.#reader.isStopped) {
      this.#late.skip(bytes.length, this.transport);
      return;
    }
    this.#isReceiving = true;
    this.#piecesOfChunk = 0;
    this.#requestsOfTurn = 0;
    this.#reader.read(bytes);
    this.#isReceiving = false;
    this.flush();
    if (this.#piecesOfChunk > piecesPerTurn) yieldTurn(this);
  }

  receiveLent(bytes: Buffer): void {
    this.#isInputLent = true;
    this.receive(bytes);
    this.#isInputLent = false;
  }

  /** Requests are answered by their repeated head from the shared memory; only what comes behind them is copied. */
  receiveShared(bytes: Buffer, count: number): boolean {
    if (this.#standing === undefined || this.isClosed || this.#reader.isStopped) return false;
    this.#isReceiving = true;
    this.#requestsOfTurn = 0;
    const end = this.#reader.readRepeated(bytes, count);
    if (end > 0 && end < count) {
      this.#piecesOfChunk = 0;
      this.#reader.read(keptCopyOf(bytes.subarray(end, count)));
    }
    this.#isReceiving = false;
    if (end === 0) return false;
    this.flush();
    if (this.#piecesOfChunk > piecesPerTurn) yieldTurn(this);
    return true;
  }

  takeRepeated(head: Http1Head, isAlone: boolean): boolean {
    const standing = this.#standing;
    const { unsentBytes } = this.#output;
    if (standing?.head !== head || this.#isDraining || this.#isClosing) return false;
    if (unsentBytes >= this.host.limits.outputBytesMax) return false;
    // Every request counts, and the last of a turn takes the long way, which ends it.
    if (this.#requestsOfTurn + 1 >= this.host.requestsPerTurn) return false;
    const bytes = standing.takeBytes(this.#heads, this.host.dateNow());
    if (bytes === undefined) return false;
    this.#requestsOfTurn++;
    this.#times.onAnsweredAtOnce();
    if (!isAlone || unsentBytes > 0) this.#output.append(bytes);
    else {
      this.transport.write([bytes], undefined);
      if (this.transport.pendingBytes > 0) this.#heads.leave();
    }
    return true;
  }

  readTarget(): ReadTarget | undefined {
    const exchange = this.#exchange;
    if (exchange === undefined || !this.#reader.isInContent || exchange.isSettled || this.#isPaused) return undefined;
    return exchange.readTarget(this.#reader.leftBytes);
  }

  /** As `receive`, for content of the body in progress that is already where the body is gathered. */
  receiveInto({ lent }: ReadTarget, count: number): void {
    if (this.isClosed || this.#reader.isStopped) {
      this.#late.skip(count, this.transport);
      return;
    }
    this.#isReceiving = true;
    this.#requestsOfTurn = 0;
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.isSettled) this.#discard(count);
    else {
      this.#times.onBodyBytes(count);
      exchange.acceptWritten(count, lent);
    }
    if (!this.#reader.isStopped) this.#reader.skipContent(count);
    this.#isReceiving = false;
    this.flush();
  }

  onHeadBegins(): void {
    this.#times.onHeadBegins();
  }

  onHead(head: Http1Head, bytes: Buffer, end: number): void {
    const memory = memoryFor(this.host, this.#memory, head.headers, this.transport.peer);
    const exchange = new Http1Exchange(this, head, memory);
    // A connection that is about to close does not begin another protocol.
    const isOffered = head.isUpgrade && !this.#isDraining && !this.#isClosing;
    const decision = isOffered ? this.#upgrades?.onUpgrade(exchange) : undefined;
    if (decision !== undefined && typeof decision !== 'function') {
      this.#upgrade(decision, exchange, memory, bytes.subarray(end));
      return;
    }
    this.#exchange = exchange;
    this.#discardedBytes = 0;
    if (!this.#reader.isInBody) exchange.acceptEnd(noFields);
    this.#times.onBodyBegins();
    const handler = decision ?? this.host.handler;
    handler(exchange);
  }

  /** Leaves the transport to the connection of another protocol, with the bytes that came behind the request. */
  #upgrade(upgrade: ProtocolUpgrade, exchange: Http1Exchange, memory: ConnectionMemory, rest: Buffer): void {
    const { host, transport } = this;
    const own = this.#memory;
    this.flush();
    this.#reader.stop();
    this.#times.stop();
    this.isClosed = true;
    exchange.memory.end();
    const next = upgrade.take({ host, transport, memory, release: () => own.close() });
    this.#upgrades?.switchTo(next);
    if (rest.length > 0) next.receive(this.#isInputLent ? keptCopyOf(rest) : rest);
  }

  onData(piece: Buffer): void {
    this.#piecesOfChunk++;
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.isSettled) {
      this.#discard(piece.length);
      return;
    }
    this.#times.onBodyBytes(piece.length);
    exchange.acceptData(piece, this.#isInputLent);
    if (exchange.isStarved || exchange.queuedBytes >= this.host.limits.streamWindowBytes) this.#pause();
  }

  #discard(bytes: number): void {
    this.#discardedBytes += bytes;
    this.#times.onBodyBytes(bytes);
    if (this.#discardedBytes > this.host.limits.discardBytesMax) this.#end();
  }

  onBodyEnd(trailers: FieldList): void {
    const exchange = this.#exchange;
    if (exchange !== undefined && !exchange.isSettled) exchange.acceptEnd(trailers);
    else this.#next();
  }

  /** Pipelined bytes are counted for the owner of the connection; beyond the size of one head nothing more is read. */
  onHeld(bytes: number): void {
    this.#pipelined ??= this.#memory.lease(waitsForNothing);
    this.#pipelined.keep(bytes);
    if (bytes > this.host.limits.headBytesMax) this.#pause();
  }

  /** For the exchange: the answer is complete. */
  onAnswered(exchange: Http1Exchange): void {
    exchange.discardBody();
    this.#times.onAnswered();
    this.#standing = this.#reader.isRepeatable(exchange.head) ? StandingAnswer.of(exchange) : undefined;
    if (this.isClosed || exchange.abortReason !== undefined) return;
    if (this.#isClosing) this.#end();
    else if (this.#reader.isInBody) this.#resume();
    else this.#next();
    this.#flushSoon();
  }

  #next(): void {
    this.#exchange = undefined;
    // The answer before a request that waited for room said that the connection goes on.
    if (this.#isClosing || (this.#isDraining && !this.#isRoomAwaited)) {
      this.#end();
      return;
    }
    if (!this.isRoomy) this.flush();
    this.#isRoomAwaited = !this.isRoomy;
    if (this.#isRoomAwaited) return;
    this.#resume();
    if (++this.#requestsOfTurn < this.host.requestsPerTurn) this.#reader.next();
    else this.#goOnLater();
  }

  /** Continues with pipelined requests in the next turn of the event loop, after the other connections. */
  #goOnLater(): void {
    this.#isTurnAwaited = true;
    inputTurns.goOnLater(this.transport.peer.owner, () => {
      this.#isTurnAwaited = false;
      this.#requestsOfTurn = 0;
      if (this.isClosed || this.#reader.isStopped || this.#exchange !== undefined) return;
      this.#isReceiving = true;
      this.#reader.next();
      this.#isReceiving = false;
      this.flush();
    });
  }

  /** For the exchange: whether the connection may serve another request after this one. */
  mayKeep(exchange: Http1Exchange, isWanted: boolean): boolean {
    if (!isWanted || this.#isDraining || this.#isClosing) return false;
    if (exchange.isBodyComplete) return true;
    if (exchange.isContinueDue) return false;
    return exchange.isChunked || this.#reader.leftBytes <= this.host.limits.discardBytesMax;
  }

  closeAfterAnswer(): void {
    this.#isClosing = true;
  }

  /** Sends a response's head. Throws when a field may not be sent. */
  sendHead(status: number, headers: HeaderList, framing: Framing, lengthBytes: number, option: ConnectionOption): void {
    this.send(this.#heads.lendBytes(status, headers, framing, lengthBytes, option, this.host.dateNow()));
  }

  sendText(text: string): void {
    if (this.isClosed) return;
    const offset = this.#output.reserve(text.length);
    this.#output.bytes.write(text, offset, 'latin1');
    this.#flushSoon();
  }

  /** True when the piece was copied and its memory is free. */
  send(piece: Uint8Array): boolean {
    if (this.isClosed) return true;
    const isCopied = this.#output.append(piece);
    this.#flushSoon();
    return isCopied;
  }

  whenTaken(release: () => void): void {
    this.#output.whenTaken(release);
    // Left to another protocol, what was handed over before may still be on its way.
    if (this.isClosed) this.#output.flush();
    else this.#flushSoon();
  }

  /** For the exchange: the application consumed body bytes, or asks for some. */
  onBodyRead(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.isStarved) return;
    if (exchange.queuedBytes < this.host.limits.streamWindowBytes) this.#resume();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.transport.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#times.onBodyResumed();
    if (!this.isYielding) this.transport.resume();
  }

  flush(): void {
    this.#isFlushQueued = false;
    if (!this.isClosed) this.#output.flush();
  }

  #flushSoon(): void {
    if (this.#isReceiving || this.#isFlushQueued || this.isClosed) return;
    this.#isFlushQueued = true;
    this.host.flushLater(this);
  }

  onWritable(): void {
    if (this.#isRoomAwaited) {
      this.#isReceiving = true;
      this.#next();
      this.#isReceiving = false;
      this.flush();
    }
    const exchange = this.#exchange;
    if (exchange?.isDrainAwaited) {
      exchange.isDrainAwaited = false;
      exchange.listener?.onDrain();
    }
  }

  receiveEnd(): void {
    this.#abort('the client closed the connection');
    this.#end();
  }

  onClosed(): void {
    this.isClosed = true;
    this.#times.stop();
    this.#abort('the connection was closed');
    this.#output.discard();
    this.#memory.close();
  }

  /** Closes after the request in progress, or after one in transit; without any, soon. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    if (this.#exchange === undefined && !this.isInHead) this.#times.onQuiet();
  }

  /** Closes a connection without a request. */
  endIdle(): void {
    this.#isDraining = true;
    this.#end();
  }

  destroy(): void {
    this.transport.destroy();
  }

  /** A time limit passed: answers with the reason where that is still possible. */
  expire(reason: string): void {
    this.onRefusal(new Http1Refusal(408, reason));
  }

  /** Answers with the reason and closes; if a response is already being sent, it is cut off instead. */
  onRefusal(refusal: Http1Refusal): void {
    const exchange = this.#exchange;
    const isAnswered = exchange?.isSettled === true;
    const isCutOff = exchange?.isStarted === true && !isAnswered;
    this.#abort(refusal.reason);
    if (isCutOff) {
      this.destroy();
      return;
    }
    // When the request was answered already, the rest of its body can be refused only by closing.
    if (refusal !== notHttp && !isAnswered) {
      const body = `${refusal.reason}\n`;
      const headers: [string, string][] = [['content-type', 'text/plain']];
      this.sendText(responseHead(refusal.status, headers, 'length', body.length, 'close', this.host.dateNow()) + body);
    }
    this.#end();
  }

  #abort(reason: string): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader.stop();
    if (exchange !== undefined && !exchange.isSettled) exchange.acceptAbort(reason);
  }

  /** Sends what is left and closes; late bytes are discarded for a while, so that the client can read the answer. */
  #end(): void {
    if (this.isClosed) return;
    this.#reader.stop();
    this.flush();
    this.#resume();
    this.#times.onEnding();
    this.transport.end();
  }
}
