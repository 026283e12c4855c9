/**
 * A server's end of an HTTP/1.1 connection (RFC 9112): bytes in by `receive`, bytes out through the transport, one
 * request at a time to the host's handler. What a client pipelines waits its turn, so answers keep their order.
 */
import type { HttpRequest } from '../exchange.ts';
import type { ConnectionHost } from '../wire/connection-host.ts';
import { type Field, fieldKind } from '../wire/field.ts';
import { FieldList, noFields } from '../wire/field-list.ts';
import { Output } from '../wire/output.ts';
import { SeamRequest } from '../wire/seam-request.ts';
import type { Connection, Transport } from '../wire/transport.ts';
import { ChunkedDecoder } from './chunked-decoder.ts';
import { Http1Times } from './connection-times.ts';
import { Http1Exchange } from './exchange.ts';
import { readFieldLines } from './field-lines.ts';
import { LineBuffer, type LineResult } from './line-buffer.ts';
import { Refusal } from './refusal.ts';
import { notHttp, readRequestHead } from './request-head.ts';
import { responseHead } from './response-head.ts';

/** What is being read: a head; a body of known length; chunks; trailers; nothing until the answer is out; nothing more. */
type Reading = 'head' | 'length' | 'chunks' | 'trailers' | 'held' | 'nothing';

/** Offers the connection to another protocol; false when it stays. */
export type OfferUpgrade = (request: HttpRequest, head: Uint8Array) => boolean;

export class Http1Connection implements Connection {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly #output: Output;
  readonly #times: Http1Times;
  readonly #offerUpgrade: OfferUpgrade | undefined;
  readonly #lines = new LineBuffer();
  #reading: Reading = 'head';
  #exchange: Http1Exchange | undefined = undefined;
  #chunks: ChunkedDecoder | undefined = undefined;
  #left = 0;
  /** Bytes behind the request that is being answered. */
  #held: Buffer | undefined = undefined;
  #unreadBytes = 0;
  #hasSkippedLine: boolean = false;
  #isClosing: boolean = false;
  #isReceiving: boolean = false;
  #isFlushQueued: boolean = false;
  #isPaused: boolean = false;
  #isDraining: boolean = false;
  isClosed: boolean = false;

  constructor(host: ConnectionHost, transport: Transport, offerUpgrade?: OfferUpgrade) {
    this.host = host;
    this.transport = transport;
    this.#offerUpgrade = offerUpgrade;
    this.#output = new Output(host.arena, transport);
    this.#times = new Http1Times(this);
  }

  get isRoomy(): boolean {
    return this.#output.unsentBytes < this.host.limits.outputBytesMax;
  }

  /** The request under way. */
  get exchange(): Http1Exchange | undefined {
    return this.#exchange;
  }

  /** Part of a head has arrived. */
  get isInHead(): boolean {
    return this.#reading === 'head' && !this.#lines.isEmpty;
  }

  /** The rest of a body is expected: asked for, or to be read over. */
  get isBodyAwaited(): boolean {
    const isInBody = this.#reading === 'length' || this.#reading === 'chunks' || this.#reading === 'trailers';
    return isInBody && (this.#exchange === undefined || this.#exchange.isSettled || this.#exchange.isFlowing);
  }

  receive(bytes: Buffer): void {
    if (this.isClosed || this.#reading === 'nothing') return;
    this.#times.onReceived(bytes.length);
    this.#isReceiving = true;
    this.#read(bytes);
    this.#isReceiving = false;
    this.flush();
  }

  #read(chunk: Buffer): void {
    let bytes = chunk;
    let at = 0;
    // A head that lay in two chunks leaves its rest in another buffer: reading goes on in whatever is left.
    while (at < bytes.length && !this.isClosed) {
      if (this.#reading === 'length') at = this.#readLength(bytes, at);
      else if (this.#reading === 'chunks') at = this.#readChunks(bytes, at);
      else if (this.#reading === 'held') {
        this.#hold(bytes.subarray(at));
        return;
      } else if (this.#reading === 'nothing') return;
      else {
        const rest = this.#readLines(bytes, at);
        if (rest === undefined) return;
        bytes = rest;
        at = 0;
      }
    }
  }

  #readLines(bytes: Buffer, at: number): Buffer | undefined {
    const lines = this.#lines;
    if (this.#reading === 'head' && lines.isEmpty) this.#times.onHeadBegins();
    const result = lines.add(bytes, at, this.host.limits.headBytesMax);
    if (result !== 'complete') {
      if (result !== 'more') this.#refuse(lineRefusal(result, this.#reading === 'head' && lines.lines === 0));
      return undefined;
    }
    const rest = lines.rest();
    if (this.#reading === 'head') this.#onHead(rest);
    else this.#onTrailers();
    lines.reset();
    // An upgraded connection took the rest along.
    return this.isClosed ? undefined : rest;
  }

  #onHead(rest: Buffer): void {
    const { bytes, start, linesEnd } = this.#lines;
    if (linesEnd === start) {
      // One empty line before a request is forgiven (RFC 9112, 2.2); a second is not.
      if (this.#hasSkippedLine) this.#refuse(new Refusal(400, 'the request begins with empty lines; remove them'));
      this.#hasSkippedLine = true;
      return;
    }
    this.#hasSkippedLine = false;
    const head = readRequestHead(bytes, start, linesEnd, this.host.limits.headerListBytesMax);
    if (head instanceof Refusal) {
      this.#refuse(head);
      return;
    }
    const exchange = new Http1Exchange(this, head);
    if (head.isUpgrade && this.#isUpgraded(exchange, rest)) return;
    this.#exchange = exchange;
    this.#unreadBytes = 0;
    this.#left = head.lengthBytes ?? 0;
    if (head.isChunked) {
      this.#reading = 'chunks';
      this.#chunks = new ChunkedDecoder();
    } else if (this.#left > 0) this.#reading = 'length';
    else this.#endBody(noFields);
    this.#times.onBodyBegins();
    this.host.handler(exchange);
  }

  #isUpgraded(exchange: Http1Exchange, rest: Buffer): boolean {
    this.flush();
    if (this.#offerUpgrade?.(new SeamRequest(exchange), Buffer.from(rest)) !== true) return false;
    this.isClosed = true;
    this.#times.stop();
    return true;
  }

  #readLength(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    this.#onData(at === 0 && taken === bytes.length ? bytes : bytes.subarray(at, at + taken));
    if (this.#left === 0 && this.#reading === 'length') this.#endBody(noFields);
    return at + taken;
  }

  #readChunks(bytes: Buffer, at: number): number {
    const chunks = this.#chunks as ChunkedDecoder;
    const end = chunks.decode(bytes, at, this.#passOn);
    if (chunks.isBroken) this.#refuse(new Refusal(400, 'the body is not properly chunked'));
    else if (chunks.isLast && this.#reading === 'chunks') this.#reading = 'trailers';
    return end;
  }

  readonly #passOn = (piece: Buffer): void => this.#onData(piece);

  #onData(piece: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined || exchange.isSettled) {
      this.#unreadBytes += piece.length;
      if (this.#unreadBytes > this.host.limits.discardBytesMax) this.#end();
      return;
    }
    exchange.bodyBytes += piece.length;
    exchange.acceptData(piece);
    if (exchange.queuedBytes >= this.host.limits.streamWindowBytes) this.#pause();
  }

  #onTrailers(): void {
    const { bytes, start, linesEnd } = this.#lines;
    const fields: Field[] = [];
    const text = bytes.toString('latin1', start, linesEnd);
    const { headerListBytesMax } = this.host.limits;
    const refusal = readFieldLines(bytes, start, linesEnd, text, start, fields, headerListBytesMax);
    if (refusal !== undefined) this.#refuse(refusal);
    else if (fields.some((field) => field.kind !== fieldKind.regular)) {
      this.#refuse(new Refusal(400, 'a trailer frames or routes the request; send it in the head'));
    } else this.#endBody(new FieldList(fields));
  }

  #endBody(trailers: FieldList): void {
    this.#reading = 'held';
    this.#chunks = undefined;
    const exchange = this.#exchange;
    if (exchange !== undefined && !exchange.isSettled) exchange.acceptEnd(trailers);
    else this.#next();
  }

  /** For the exchange: the answer is complete. */
  onAnswered(exchange: Http1Exchange): void {
    exchange.discardBody();
    this.#times.onAnswered();
    if (this.isClosed || exchange.abortReason !== undefined) return;
    if (this.#isClosing) this.#end();
    else if (this.#reading === 'held') this.#next();
    else this.#resume();
    this.#flushSoon();
  }

  #next(): void {
    this.#exchange = undefined;
    if (this.#isClosing || this.#isDraining) {
      this.#end();
      return;
    }
    if (!this.isRoomy) {
      // A client that pipelines and does not read: its next request waits, and so does whatever it still sends.
      this.#pause();
      this.whenTaken(this.#onRoom);
      return;
    }
    this.#reading = 'head';
    const held = this.#held;
    this.#held = undefined;
    this.#resume();
    // Within `receive` the loop goes on by itself, with these bytes when they came in earlier.
    if (held !== undefined) this.#read(held);
  }

  readonly #onRoom = (): void => {
    if (this.#reading === 'held' && this.#exchange === undefined) this.#next();
  };

  #hold(bytes: Buffer): void {
    this.#held = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    if (this.#held.length > this.host.limits.headBytesMax) this.#pause();
  }

  /** For the exchange: whether the connection may serve another request after this one. */
  mayKeep(exchange: Http1Exchange, isWanted: boolean): boolean {
    if (!isWanted || this.#isDraining || this.#isClosing || exchange.isContinueDue) return false;
    return exchange.isBodyComplete || exchange.isChunked || this.#left <= this.host.limits.discardBytesMax;
  }

  closeAfterAnswer(): void {
    this.#isClosing = true;
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
    if (this.isClosed) release();
    else {
      this.#output.whenTaken(release);
      this.#flushSoon();
    }
  }

  /** For the exchange: the application took body bytes, or wants some. */
  onBodyRead(): void {
    const exchange = this.#exchange;
    if (exchange !== undefined && exchange.queuedBytes < this.host.limits.streamWindowBytes) this.#resume();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.transport.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#times.onBodyBegins();
    this.transport.resume();
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
    this.#times.onSent();
    const exchange = this.#exchange;
    if (exchange?.isDrainAwaited) {
      exchange.isDrainAwaited = false;
      exchange.listener?.onDrain();
    }
  }

  receiveEnd(): void {
    this.#reading = 'nothing';
    this.#abort('the client closed the connection');
    this.#end();
  }

  onClosed(): void {
    const wasClosed = this.isClosed;
    this.isClosed = true;
    this.#times.stop();
    if (wasClosed && this.#exchange === undefined) return;
    this.#abort('the connection was closed');
    this.#output.discard();
  }

  /** Closes after the request under way, or after one that is on its way already; without any, soon. */
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

  /** Took too long: says so where an answer is still possible. */
  expire(reason: string): void {
    this.#refuse(new Refusal(408, reason));
    this.flush();
  }

  #abort(reason: string): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (exchange !== undefined && !exchange.isSettled) exchange.acceptAbort(reason);
  }

  /** Answers with what is wrong and closes; a request already being answered is cut off instead. */
  #refuse(refusal: Refusal): void {
    const exchange = this.#exchange;
    const isStarted = exchange?.isStarted === true && !exchange.isSettled;
    this.#reading = 'nothing';
    this.#abort(refusal.reason);
    if (isStarted) {
      this.destroy();
      return;
    }
    if (refusal === notHttp) {
      this.#end();
      return;
    }
    const body = `${refusal.reason}\n`;
    const headers: [string, string][] = [['content-type', 'text/plain']];
    this.sendText(responseHead(refusal.status, headers, 'length', body.length, 'close', this.host.dateNow()) + body);
    this.#end();
  }

  /** Sends what is left and closes; what still arrives is read over for a while, so that the answer gets through. */
  #end(): void {
    if (this.isClosed) return;
    this.#reading = 'nothing';
    this.flush();
    this.#resume();
    this.#times.onEnding();
    this.transport.end();
  }
}

function lineRefusal(result: LineResult, isRequestLine: boolean): Refusal {
  if (result === 'bare-line-feed') return new Refusal(400, 'a line ends without a carriage return; end lines in CRLF');
  return isRequestLine
    ? new Refusal(414, 'the request line is too long; shorten it')
    : new Refusal(431, 'the fields of the request are too large; send fewer or shorter ones');
}
