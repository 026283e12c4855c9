/**
 * The receiving half of a connection: turns header blocks and DATA frames into requests, under stream states and
 * windows.
 */

import {
  errorCode,
  frameFlag,
  HeaderBlock,
  type HeaderField,
  HpackDecoder,
  type Http2ErrorCode,
  readUint32BigEndian,
  streamIdMax,
} from '@millrace/http2';
import { IdMap } from '@millrace/protocol';
import type { LentBody, ReadTarget } from '../wire/body-pool.ts';
import { keptCopyOf, targetBytesMin } from '../wire/byte-gatherer.ts';
import { FieldList, noFields } from '../wire/field-list.ts';
import { ClosedStreams } from './closed-streams.ts';
import type { Http2Connection } from './connection.ts';
import { expectedFrameBytesMin, expectingFrames } from './framed-input.ts';
import { areTrailers, requestHeadFrom } from './request-head.ts';
import { Http2Stream } from './stream.ts';

export class RequestReceiver {
  readonly streams = new IdMap<Http2Stream>();
  readonly closed = new ClosedStreams();
  readonly block = new HeaderBlock();
  /** Streams that are open, or closed with their handler still running. */
  activeCount = 0;
  lastStreamId = 0;
  /** The highest stream taken once draining; later ones are ignored. */
  #acceptedMax = streamIdMax;
  readonly #connection: Http2Connection;
  readonly #decoder = new HpackDecoder();
  /** What the client may still send on all streams together, and what was consumed but not announced yet. */
  #window: number;
  #unannounced = 0;
  #dataStream: Http2Stream | undefined = undefined;
  #dataFlags = 0;
  #dataLength = 0;

  constructor(connection: Http2Connection) {
    this.#connection = connection;
    this.#window = connection.host.limits.connectionWindowBytes;
  }

  isIdle(streamId: number): boolean {
    return streamId > this.lastStreamId || (streamId & 1) === 0;
  }

  /** From now on no further streams are taken; returns the last one that was. */
  refuseFurther(): number {
    this.#acceptedMax = this.lastStreamId;
    return this.lastStreamId;
  }

  /** Counts consumed bytes; returns how many to announce, 0 while they are few or the client has enough left. */
  credit(bytes: number): number {
    this.#unannounced += bytes;
    return isCreditDue(this.#unannounced, this.#window, this.#connection.host.limits.connectionWindowBytes)
      ? this.#announce()
      : 0;
  }

  /** Something is sent anyway: how many bytes to announce with it, 0 while they are few. */
  creditWithAnswer(): number {
    return this.#unannounced * 4 < this.#connection.host.limits.connectionWindowBytes ? 0 : this.#announce();
  }

  #announce(): number {
    const announced = this.#unannounced;
    this.#unannounced = 0;
    this.#window += announced;
    return announced;
  }

  /** A stream error caused by the client. */
  reject(stream: Http2Stream, code: Http2ErrorCode): void {
    this.#connection.resetStream(stream, code, `the client broke the protocol (code ${code})`);
    this.#connection.countReset();
  }

  headers(flags: number, streamId: number, bytes: Buffer, from: number, to: number): void {
    const connection = this.#connection;
    let start = from;
    let end = to;
    if ((streamId & 1) === 0) {
      connection.fail(errorCode.protocolError, 'HEADERS on an even stream');
      return;
    }
    if ((flags & frameFlag.padded) !== 0) {
      if (start === end) {
        connection.fail(errorCode.frameSizeError, 'HEADERS without its padding length');
        return;
      }
      end -= bytes[start++] as number;
    }
    let isSelfDependent = false;
    if ((flags & frameFlag.priority) !== 0) {
      if (end - start < 5) {
        connection.fail(errorCode.frameSizeError, 'HEADERS without its priority');
        return;
      }
      isSelfDependent = (readUint32BigEndian(bytes, start) & 0x7fffffff) === streamId;
      start += 5;
    }
    if (start > end) {
      connection.fail(errorCode.protocolError, 'padding longer than its frame');
      return;
    }
    const isEndStream = (flags & frameFlag.endStream) !== 0;
    if ((flags & frameFlag.endHeaders) !== 0) {
      this.#decode(streamId, bytes, start, end, isEndStream, isSelfDependent);
      return;
    }
    this.block.begin(streamId, isEndStream, isSelfDependent, connection.nowMs);
    this.#gather(bytes, start, end);
  }

  continuation(flags: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#gather(bytes, start, end) || (flags & frameFlag.endHeaders) === 0) return;
    const { streamId, isEndStream, isSelfDependent } = this.block;
    const whole = this.block.finish();
    this.#decode(streamId, whole, 0, whole.length, isEndStream, isSelfDependent);
  }

  #gather(bytes: Buffer, start: number, end: number): boolean {
    const { headBytesMax, continuationFramesMax } = this.#connection.host.limits;
    const part = bytes.subarray(start, end);
    const kept = this.#connection.isInputLent ? keptCopyOf(part) : part;
    if (this.block.add(kept, headBytesMax, continuationFramesMax)) return true;
    this.#connection.fail(errorCode.enhanceYourCalm, 'header block too large');
    return false;
  }

  /**
   * Decodes a whole block, whatever its stream, because the table belongs to the connection; then checks the stream.
   */
  #decode(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean, isSelfDependent: boolean): void {
    const connection = this.#connection;
    const { headBytesMax, headerListBytesMax, headerFieldsMax } = connection.host.limits;
    if (end - start > headBytesMax) {
      connection.fail(errorCode.enhanceYourCalm, 'header block too large');
      return;
    }
    const fields: HeaderField[] = [];
    const result = this.#decoder.decode(bytes, start, end, fields, headerListBytesMax);
    if (result === 'compression-error') {
      connection.fail(errorCode.compressionError, 'bad header block');
      return;
    }
    if (result === 'bomb') {
      connection.fail(errorCode.enhanceYourCalm, 'header list too large');
      return;
    }
    const isTooLarge = result === 'list-too-large' || fields.length > headerFieldsMax;
    const stream = this.streams.get(streamId);
    if (stream !== undefined) this.#onTrailers(stream, fields, isEnd, isTooLarge || isSelfDependent);
    else if (streamId > this.lastStreamId) this.#onRequest(streamId, fields, isEnd, isTooLarge, isSelfDependent);
    else this.#onLateHeaders(streamId);
  }

  #onRequest(
    streamId: number,
    fields: HeaderField[],
    isEnd: boolean,
    isTooLarge: boolean,
    isSelfDependent: boolean,
  ): void {
    const connection = this.#connection;
    const { limits, wheel, handler } = connection.host;
    if (streamId > this.#acceptedMax) return;
    if (streamId > this.lastStreamId + 2) this.closed.addGap(this.lastStreamId + 2, streamId - 2);
    this.lastStreamId = streamId;
    const head = isSelfDependent ? undefined : requestHeadFrom(fields, isEnd);
    if (head === undefined && !isTooLarge) {
      connection.rejectStream(streamId, errorCode.protocolError);
      return;
    }
    if (this.activeCount >= limits.streamsMax) {
      connection.rejectStream(streamId, errorCode.refusedStream);
      return;
    }
    const isContinueDue = head?.headers.get('expect')?.toLowerCase() === '100-continue';
    const windows = { send: connection.sender.peerSettings.windowBytes, receive: limits.streamWindowBytes };
    const stream = new Http2Stream(streamId, connection, head ?? unknownHead, windows, isContinueDue, wheel.nowMs);
    if (stream.isRefused) {
      stream.memory.end();
      connection.rejectStream(streamId, errorCode.refusedStream);
      return;
    }
    this.streams.set(streamId, stream);
    this.activeCount++;
    if (isEnd) stream.acceptEnd(noFields);
    const refusal = isTooLarge
      ? 431
      : stream.headers.has('expect') && !isContinueDue
        ? 417
        : stream.method === 'CONNECT'
          ? 501
          : 0;
    connection.onRequestBegins();
    if (refusal === 0) handler(stream);
    else stream.answer(refusal, [], undefined, undefined, undefined);
    // The stream numbers of the connection are nearly used up: drain it while some are left.
    if (streamId >= streamIdMax - 2 * limits.streamsMax) connection.drain();
  }

  #onTrailers(stream: Http2Stream, fields: HeaderField[], isEnd: boolean, isBad: boolean): void {
    if (stream.isBodyComplete) this.reject(stream, errorCode.streamClosed);
    else if (isBad || !isEnd || !areTrailers(fields) || !isLengthMet(stream)) {
      this.reject(stream, errorCode.protocolError);
    } else {
      stream.acceptEnd(new FieldList(fields));
      this.#connection.onRemoteEnd(stream);
    }
  }

  #onLateHeaders(streamId: number): void {
    const ending = this.closed.endingOf(streamId);
    if (ending === 'never-used') this.#connection.fail(errorCode.protocolError, 'stream number not increasing');
    else if (ending === 'completed') this.#connection.fail(errorCode.streamClosed, 'HEADERS on a closed stream');
    else if (ending === 'reset-by-peer') this.#connection.rejectStream(streamId, errorCode.streamClosed);
    else this.#connection.countFrame();
  }

  /** A DATA frame begins; false when its payload is to be skipped. */
  beginData(flags: number, streamId: number, length: number): boolean {
    const connection = this.#connection;
    if (streamId === 0 || this.isIdle(streamId)) {
      connection.fail(errorCode.protocolError, 'DATA on an idle stream');
      return false;
    }
    this.#window -= length;
    if (this.#window < 0) {
      connection.fail(errorCode.flowControlError, 'more DATA than the connection window');
      return false;
    }
    const stream = this.streams.get(streamId);
    if (stream === undefined) {
      this.#onLateData(streamId, length);
      return false;
    }
    if (stream.isBodyComplete || length > stream.receiveWindow) {
      connection.creditConnection(length);
      this.reject(stream, stream.isBodyComplete ? errorCode.streamClosed : errorCode.flowControlError);
      return false;
    }
    stream.receiveWindow -= length;
    this.#dataStream = stream;
    this.#dataFlags = flags;
    this.#dataLength = length;
    return true;
  }

  #onLateData(streamId: number, length: number): void {
    const ending = this.closed.endingOf(streamId);
    this.#connection.creditConnection(length);
    if (ending === 'reset-here') this.#connection.countFrame();
    else if (ending === 'reset-by-peer') this.#connection.rejectStream(streamId, errorCode.streamClosed);
    else this.#connection.fail(errorCode.streamClosed, 'DATA on a closed stream');
  }

  dataBegins(dataBytes: number): void {
    const stream = this.#dataStream;
    if (stream === undefined) return;
    const padding = this.#dataLength - dataBytes;
    if (padding > 0) this.#connection.creditStream(stream, padding);
    stream.bodyBytes += dataBytes;
    if (stream.lengthBytes === undefined || stream.bodyBytes <= stream.lengthBytes) return;
    // The rest of the frame is skipped piece by piece, and counted as consumed.
    this.reject(stream, errorCode.protocolError);
  }

  dataPiece(piece: Buffer): void {
    const stream = this.#dataStream;
    if (stream === undefined) return;
    if (stream.isClosed) this.#connection.creditConnection(piece.length);
    else stream.acceptData(piece, this.#connection.isInputLent);
  }

  /** Where data that is to come may be written: so many bytes of the current frame, which has no padding if more frames are expected. */
  readTarget(leftBytes: number, isPadded: boolean): ReadTarget | undefined {
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed || stream.isSettled) return undefined;
    const { lengthBytes = Number.POSITIVE_INFINITY, bodyBytes } = stream;
    const target = stream.readTarget(leftBytes + lengthBytes - bodyBytes);
    if (target === undefined || target.bytes.length <= leftBytes) return target;
    const { bytes, lent } = target;
    if (this.#areFramesExpected(stream, isPadded)) return expectingFrames(target, leftBytes, this.#dataLength);
    return leftBytes < targetBytesMin ? undefined : { bytes: bytes.subarray(0, leftBytes), lent };
  }

  /** Other streams of the connection would come between, and the memory may be a worker's that is not theirs. */
  #areFramesExpected(stream: Http2Stream, isPadded: boolean): boolean {
    if (this.#connection.host.bodies.framedReads === undefined || this.streams.size > 1) return false;
    return !isPadded && !stream.hasOddFrames && this.#dataLength >= expectedFrameBytesMin;
  }

  /** Where in this memory data of the current frame is to be written; -1: elsewhere. */
  offsetIn(lent: LentBody): number {
    const stream = this.#dataStream;
    return stream === undefined || stream.isClosed || stream.isSettled ? -1 : stream.offsetIn(lent);
  }

  /** Data of the current frame was written to memory of its stream. */
  dataWritten(bytes: number, lent: LentBody): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) this.#connection.creditConnection(bytes);
    else stream.acceptWritten(bytes, lent);
  }

  /** Frames of the body in progress were not as expected: no more are. */
  noteOddFrames(): void {
    for (const stream of this.streams.values()) stream.hasOddFrames = true;
  }

  /** The DATA frame is complete. True when it brought nothing at all. */
  dataEnds(): boolean {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    if (stream === undefined || stream.isClosed) return true;
    if ((this.#dataFlags & frameFlag.endStream) === 0) return this.#dataLength === 0;
    if (!isLengthMet(stream)) this.reject(stream, errorCode.protocolError);
    else {
      stream.acceptEnd(noFields);
      this.#connection.onRemoteEnd(stream);
    }
    return false;
  }
}

/**
 * Whether a client has to be told what it may send in addition: much was consumed, and it may run out. A write of its own for
 * every large body would cost as much as its answer, and most end before they need it.
 */
export function isCreditDue(unannouncedBytes: number, leftBytes: number, windowBytes: number): boolean {
  return unannouncedBytes * 2 >= windowBytes && leftBytes * 4 <= windowBytes;
}

function isLengthMet(stream: Http2Stream): boolean {
  return stream.lengthBytes === undefined || stream.lengthBytes === stream.bodyBytes;
}

/** Stands in for a request whose head was too large to be kept. */
const unknownHead = {
  method: 'GET',
  path: '/',
  query: '',
  authority: '',
  version: '2',
  headers: noFields,
  lengthBytes: undefined,
} as const;
