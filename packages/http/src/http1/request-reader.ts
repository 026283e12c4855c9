/** The reading half of an HTTP/1.1 connection: parses bytes into heads, bodies and trailers, one request at a time. */

import { fieldKind, type HeaderField } from '@millrace/http2';
import { keptCopyOf } from '../wire/byte-gatherer.ts';
import type { HttpLimits } from '../wire/config.ts';
import { FieldList, noFields } from '../wire/field-list.ts';
import { ChunkedDecoder } from './chunked-decoder.ts';
import { readFieldLines } from './field-lines.ts';
import { LineBuffer, type LineResult } from './line-buffer.ts';
import { Http1Refusal } from './refusal.ts';
import { RepeatedHead } from './repeated-head.ts';
import { type Http1Head, readRequestHead } from './request-head.ts';

/**
 * What is read now: a head; a body of known length; chunks; trailers; nothing until the answer is sent; nothing more.
 */
type Reading = 'head' | 'length' | 'chunks' | 'trailers' | 'held' | 'nothing';

export interface RequestSink {
  onHeadBegins(): void;
  /**
   * The last head came again, where a request may begin. True: it was answered, and there is no body. Alone: nothing else
   * arrived with it.
   */
  takeRepeated(head: Http1Head, isAlone: boolean): boolean;
  /**
   * A head is complete; `bytes` from `end` on came behind it. Body callbacks follow, only `onBodyEnd` if there is no
   * body.
   */
  onHead(head: Http1Head, bytes: Buffer, end: number): void;
  onData(piece: Buffer): void;
  onBodyEnd(trailers: FieldList): void;
  onRefusal(refusal: Http1Refusal): void;
  /** This many bytes are now held behind the request that is being answered. */
  onHeld(bytes: number): void;
}

export class RequestReader {
  readonly #sink: RequestSink;
  readonly #limits: HttpLimits;
  readonly #lines = new LineBuffer();
  readonly #repeated = new RepeatedHead();
  #reading: Reading = 'head';
  #chunks: ChunkedDecoder | undefined = undefined;
  #left = 0;
  /** Bytes held behind the request that is being answered. */
  #held: Buffer | undefined = undefined;
  #hasSkippedLine: boolean = false;

  constructor(sink: RequestSink, limits: HttpLimits) {
    this.#sink = sink;
    this.#limits = limits;
  }

  /** Part of a head has arrived. */
  get isInHead(): boolean {
    return this.#reading === 'head' && !this.#lines.isEmpty;
  }

  get isInBody(): boolean {
    return this.#reading === 'length' || this.#reading === 'chunks' || this.#reading === 'trailers';
  }

  get isStopped(): boolean {
    return this.#reading === 'nothing';
  }

  /** What is left of a body of known length. */
  get leftBytes(): number {
    return this.#left;
  }

  /** Whether the next bytes are content of a body of known length. */
  get isInContent(): boolean {
    return this.#reading === 'length';
  }

  /** Whether `takeRepeated` is called if the next request has this head too. */
  isRepeatable(head: Http1Head): boolean {
    return this.#repeated.head === head;
  }

  /** So many bytes of the content were read elsewhere. */
  skipContent(count: number): void {
    this.#left -= count;
    if (this.#left === 0) this.#endBody(noFields);
  }

  stop(): void {
    this.#reading = 'nothing';
    this.#takeHeld();
  }

  /** The request has been answered: reads the next one, beginning with the bytes held. */
  next(): void {
    this.#reading = 'head';
    const held = this.#takeHeld();
    if (held !== undefined) this.read(held);
  }

  #takeHeld(): Buffer | undefined {
    const held = this.#held;
    if (held === undefined) return undefined;
    this.#held = undefined;
    this.#sink.onHeld(0);
    return held;
  }

  read(chunk: Buffer): void {
    let bytes = chunk;
    let at = 0;
    // A head that lay in two chunks leaves its rest in another buffer: reading continues in whatever is left.
    while (at < bytes.length && this.#reading !== 'nothing') {
      if (this.#reading === 'length') at = this.#readLength(bytes, at);
      else if (this.#reading === 'chunks') at = this.#readChunks(bytes, at);
      else if (this.#reading === 'held') {
        this.#hold(bytes.subarray(at));
        return;
      } else {
        const end = this.#readRepeated(bytes, at);
        if (end > at) {
          at = end;
          continue;
        }
        const rest = this.#readLines(bytes, at);
        if (rest === undefined) return;
        bytes = rest;
        at = 0;
      }
    }
  }

  /** Takes requests from the beginning of `bytes[0, count)` as far as the sink answers them by their repeated head. Returns where they end. */
  readRepeated(bytes: Buffer, count: number): number {
    let at = 0;
    while (at < count && this.#reading === 'head' && this.#lines.isEmpty) {
      const end = this.#repeated.endIn(bytes, at, count);
      if (end < 0 || !this.#sink.takeRepeated(this.#repeated.head as Http1Head, end - at === count)) break;
      this.#hasSkippedLine = false;
      at = end;
    }
    return at;
  }

  #refuse(refusal: Http1Refusal): void {
    this.stop();
    this.#sink.onRefusal(refusal);
  }

  #readRepeated(bytes: Buffer, at: number): number {
    if (this.#reading !== 'head' || !this.#lines.isEmpty) return -1;
    const end = this.#repeated.endIn(bytes, at, bytes.length);
    if (end < 0) return -1;
    if (this.#sink.takeRepeated(this.#repeated.head as Http1Head, false)) {
      this.#hasSkippedLine = false;
      return end;
    }
    this.#sink.onHeadBegins();
    this.#beginBody(this.#repeated.head as Http1Head, bytes, end);
    return end;
  }

  #readLines(bytes: Buffer, at: number): Buffer | undefined {
    const lines = this.#lines;
    if (this.#reading === 'head' && lines.isEmpty) this.#sink.onHeadBegins();
    const result = lines.add(bytes, at, this.#limits.headBytesMax);
    if (result !== 'complete') {
      if (result === 'more') return undefined;
      const isRequestLine = this.#reading === 'head' && lines.lines === 0;
      this.#refuse(lineRefusal(result, isRequestLine, this.#limits.headBytesMax));
      return undefined;
    }
    const rest = lines.rest();
    if (this.#reading === 'head') this.#endHead(rest);
    else this.#endTrailers();
    lines.reset();
    return rest;
  }

  #endHead(rest: Buffer): void {
    const { bytes, start, linesEnd, end } = this.#lines;
    if (linesEnd === start) {
      // One empty line before a request is allowed (RFC 9112, 2.2); a second is not.
      if (this.#hasSkippedLine) this.#refuse(new Http1Refusal(400, 'the request begins with empty lines; remove them'));
      this.#hasSkippedLine = true;
      return;
    }
    const head = readRequestHead(bytes, start, linesEnd, this.#limits);
    if (head instanceof Http1Refusal) {
      this.#refuse(head);
      return;
    }
    this.#repeated.keep(bytes, start, end, head);
    this.#beginBody(head, rest, 0);
  }

  #beginBody(head: Http1Head, bytes: Buffer, end: number): void {
    this.#hasSkippedLine = false;
    this.#left = head.lengthBytes ?? 0;
    this.#chunks = head.isChunked ? new ChunkedDecoder() : undefined;
    this.#reading = head.isChunked ? 'chunks' : this.#left > 0 ? 'length' : 'held';
    this.#sink.onHead(head, bytes, end);
  }

  #readLength(bytes: Buffer, at: number): number {
    const taken = Math.min(this.#left, bytes.length - at);
    this.#left -= taken;
    this.#sink.onData(at === 0 && taken === bytes.length ? bytes : bytes.subarray(at, at + taken));
    if (this.#left === 0 && this.isInBody) this.#endBody(noFields);
    return at + taken;
  }

  #readChunks(bytes: Buffer, at: number): number {
    const chunks = this.#chunks as ChunkedDecoder;
    const end = chunks.decode(bytes, at, this.#passOn);
    if (!this.isInBody) return end;
    if (chunks.isBroken) this.#refuse(new Http1Refusal(400, 'the chunked encoding of the body is invalid'));
    else if (chunks.isLast) this.#reading = 'trailers';
    return end;
  }

  readonly #passOn = (piece: Buffer): void => this.#sink.onData(piece);

  #endTrailers(): void {
    const { bytes, start, linesEnd } = this.#lines;
    const fields: HeaderField[] = [];
    const text = bytes.toString('latin1', start, linesEnd);
    const refusal = readFieldLines(bytes, start, linesEnd, text, start, fields, this.#limits);
    if (refusal !== undefined) this.#refuse(refusal);
    else if (fields.some((field) => field.kind !== fieldKind.regular)) {
      this.#refuse(
        new Http1Refusal(400, 'a trailer field concerns framing or routing of the request; send it in the head'),
      );
    } else this.#endBody(new FieldList(fields));
  }

  #endBody(trailers: FieldList): void {
    this.#reading = 'held';
    this.#chunks = undefined;
    this.#sink.onBodyEnd(trailers);
  }

  #hold(bytes: Buffer): void {
    this.#held = this.#held === undefined ? keptCopyOf(bytes) : Buffer.concat([this.#held, bytes]);
    this.#sink.onHeld(this.#held.length);
  }
}

function lineRefusal(result: LineResult, isRequestLine: boolean, bytesMax: number): Http1Refusal {
  if (result === 'bare-line-feed')
    return new Http1Refusal(400, 'a line ends without a carriage return; end lines in CRLF');
  return isRequestLine
    ? new Http1Refusal(414, `the request line is longer than ${bytesMax} bytes; shorten it`)
    : new Http1Refusal(431, `the head or the trailers have more than ${bytesMax} bytes; send fewer or shorter fields`);
}
