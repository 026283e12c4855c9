/**
 * The sending half of a connection: frames into the output, response bodies under flow control. What a stream writes
 * waits until the end of the tick and is sent in frames as full as the windows allow, one frame per stream in turn.
 */

import {
  frameFlag,
  frameType,
  HpackEncoder,
  http2FrameHeaderBytes,
  PeerSettings,
  windowBytesDefault,
  writeFrameHeader,
} from '@millrace/http2';
import type { HeaderList } from '../exchange.ts';
import type { ConnectionHost } from '../wire/connection-host.ts';
import { copiedBytesMax, type Output } from '../wire/output.ts';
import type { TokenBucket } from '../wire/token-bucket.ts';
import type { AnswerBody } from '../wire/wire-exchange.ts';
import type { Http2Stream } from './stream.ts';
import { StreamQueue } from './stream-queue.ts';

/** Frames are no larger than this even if the client accepts more: one stream must not delay the others. */
const frameBytesSentMax = 65_536;
/** Bytes that one stream may have pending before its application is asked to pause. */
const pendingBytesMax = 16_384;
/** A frame of useful size earns its client the window updates for it, on stream and connection. */
const tokensPerFrame = 3;
/**
 * Smaller frames earn that only if the application had no more data: otherwise the client opens its window too little.
 */
const worthyFrameBytes = 1024;

export class Http2Sender {
  readonly output: Output;
  readonly peerSettings = new PeerSettings();
  /** What the client allows us to send on all streams together. */
  windowBytes = windowBytesDefault;
  readonly #host: ConnectionHost;
  readonly #encoder = new HpackEncoder();
  readonly #ready = new StreamQueue();
  readonly #controlFrames: TokenBucket;

  constructor(host: ConnectionHost, output: Output, controlFrames: TokenBucket) {
    this.#host = host;
    this.output = output;
    this.#controlFrames = controlFrames;
  }

  /** Applies the client's SETTINGS after they were read into `peerSettings`. */
  limitHeaderTable(): void {
    this.#encoder.limitTable(this.peerSettings.headerTableBytes);
  }

  get isRoomy(): boolean {
    return this.output.unsentBytes < this.#host.limits.outputBytesMax;
  }

  /** `lengthBytes` below zero: no length is declared. */
  sendHead(stream: Http2Stream, status: number, headers: HeaderList, lengthBytes: number, isEnd: boolean): void {
    this.#sendBlock(stream.id, status, headers, lengthBytes, true, isEnd);
    stream.connection.times.onServed();
    stream.isStarted = true;
  }

  sendInterim(stream: Http2Stream, status: number, headers: HeaderList): void {
    this.#sendBlock(stream.id, status, headers, -1, false, false);
  }

  sendAnswer(
    stream: Http2Stream,
    status: number,
    headers: HeaderList,
    body: AnswerBody,
    trailers: HeaderList | undefined,
    release: (() => void) | undefined,
  ): void {
    const bytes = bodyBytesOf(body);
    const isBodyless = stream.method === 'HEAD' || status === 204 || status === 304;
    const isEnd = (bytes === 0 && trailers === undefined) || isBodyless;
    // Without a body no length is declared: END_STREAM says it all, as gRPC clients expect.
    const isMeasured = body !== undefined && trailers === undefined && status !== 204 && status !== 304;
    this.sendHead(stream, status, headers, isMeasured ? bytes : -1, isEnd);
    stream.isSettled = true;
    if (isEnd || body === undefined || bytes === 0) {
      stream.settleMemory();
      release?.();
      if (isEnd) stream.connection.onLocalEnd(stream);
      else {
        stream.trailersToSend = trailers;
        this.sendEnd(stream);
      }
      return;
    }
    if (body instanceof Uint8Array) stream.addPending(body);
    else for (const piece of body) if (piece.length > 0) stream.addPending(piece);
    // Small pieces are copied as soon as the windows allow, and seldom wait.
    if (bytes > copiedBytesMax) stream.addPending(stream.holdUnsent(bytes, release));
    else if (release !== undefined) stream.addPending(release);
    stream.settleMemory();
    stream.pendingBytes += bytes;
    stream.trailersToSend = trailers;
    // The usual answer fits into one frame and the windows: it is sent now, without queueing.
    const room = Math.min(stream.sendWindow, this.windowBytes, this.peerSettings.frameBytesMax);
    if (bytes <= room && this.isRoomy) this.#sendFrame(stream, bytes);
    else this.#makeReady(stream);
  }

  /** Takes a piece of a body; false when the stream should wait. */
  enqueue(stream: Http2Stream, piece: Uint8Array, release: (() => void) | undefined): boolean {
    if (piece.length > 0) {
      stream.addPending(piece);
      stream.pendingBytes += piece.length;
      if (piece.length > copiedBytesMax) stream.addPending(stream.holdUnsent(piece.length, release));
      else if (release !== undefined) stream.addPending(release);
      this.#makeReady(stream);
    } else release?.();
    return stream.pendingBytes < pendingBytesMax && this.isRoomy;
  }

  /** Ends a stream that has nothing pending. */
  sendEnd(stream: Http2Stream): void {
    const trailers = stream.trailersToSend;
    if (!stream.isStarted) this.sendHead(stream, 200, [], -1, trailers === undefined);
    else if (trailers === undefined) this.#writeHeader(0, frameType.data, frameFlag.endStream, stream.id);
    if (trailers !== undefined) this.#sendBlock(stream.id, 0, trailers, -1, false, true);
    stream.connection.onLocalEnd(stream);
  }

  /** The client opened a window, or the transport has room. */
  makeReady(stream: Http2Stream): void {
    if (stream.pendingBytes > 0) this.#makeReady(stream);
  }

  /** Sends what the windows and the transport take, a frame of each stream in turn. */
  pump(): void {
    while (this.windowBytes > 0 && this.isRoomy) {
      const stream = this.#ready.take();
      if (stream === undefined) return;
      stream.isReady = false;
      // New settings may have closed its window while it waited; a WINDOW_UPDATE will queue it again.
      if (stream.isClosed || stream.pendingBytes === 0 || stream.sendWindow <= 0) continue;
      const limit = Math.min(this.peerSettings.frameBytesMax, frameBytesSentMax, this.windowBytes);
      this.#sendFrame(stream, Math.min(stream.pendingBytes, stream.sendWindow, limit));
      if (stream.pendingBytes > 0) this.#makeReady(stream);
    }
  }

  #makeReady(stream: Http2Stream): void {
    if (stream.isReady || stream.sendWindow <= 0) return;
    stream.isReady = true;
    this.#ready.add(stream);
  }

  /** Sends one DATA frame of `bytes`, out of as many pending pieces as it takes. */
  #sendFrame(stream: Http2Stream, bytes: number): void {
    const isAll = bytes === stream.pendingBytes;
    const isLast = isAll && stream.isSettled && stream.trailersToSend === undefined;
    this.#writeHeader(bytes, frameType.data, isLast ? frameFlag.endStream : 0, stream.id);
    stream.connection.times.onServed();
    this.windowBytes -= bytes;
    stream.sendWindow -= bytes;
    stream.pendingBytes -= bytes;
    stream.sentBytes += bytes;
    this.#appendPending(stream, bytes);
    if (isAll || bytes >= worthyFrameBytes) this.#controlFrames.refund(tokensPerFrame);
    if (!isAll) return;
    stream.clearPending();
    if (isLast) stream.connection.onLocalEnd(stream);
    else if (stream.isSettled) this.sendEnd(stream);
    else if (stream.isDrainAwaited) {
      stream.isDrainAwaited = false;
      stream.listener?.onDrain();
    }
  }

  #appendPending(stream: Http2Stream, bytes: number): void {
    let left = bytes;
    while (stream.pendingAt < stream.pending.length) {
      const item = stream.pending[stream.pendingAt] as Uint8Array | (() => void);
      if (typeof item === 'function') {
        stream.pendingAt++;
        if (stream.isReferenced) this.output.whenTaken(item);
        else item();
        continue;
      }
      if (left === 0) break;
      const rest = item.length - stream.pendingOffset;
      if (rest <= left) {
        const part = stream.pendingOffset === 0 ? item : item.subarray(stream.pendingOffset);
        if (!this.output.append(part)) stream.isReferenced = true;
        left -= rest;
        stream.pendingOffset = 0;
        stream.pendingAt++;
      } else {
        const part = item.subarray(stream.pendingOffset, stream.pendingOffset + left);
        if (!this.output.append(part)) stream.isReferenced = true;
        stream.pendingOffset += left;
        break;
      }
    }
  }

  #writeHeader(length: number, type: number, flags: number, streamId: number): void {
    const offset = this.output.reserve(http2FrameHeaderBytes);
    writeFrameHeader(this.output.bytes, offset, length, type, flags, streamId);
  }

  /** A header block: a response's head (status above zero) or trailers. */
  #sendBlock(
    streamId: number,
    status: number,
    headers: HeaderList,
    lengthBytes: number,
    isDated: boolean,
    isEnd: boolean,
  ): void {
    const output = this.output;
    const offset = output.reserve(http2FrameHeaderBytes + HpackEncoder.bytesMax(headers) + 96);
    const bytes = output.bytes;
    const start = offset + http2FrameHeaderBytes;
    let at = this.#encoder.begin(bytes, start);
    if (status > 0) at = this.#encoder.encodeStatus(status, bytes, at);
    try {
      for (let index = 0; index < headers.length; index++) {
        const field = headers[index] as readonly [string, string];
        at = this.#encoder.encode(field[0], field[1], bytes, at);
      }
    } catch (error) {
      // Nothing of the block may be sent; the client lacks what the block put into the encoder's table.
      output.trim(offset);
      this.#encoder.reset();
      throw error;
    }
    if (lengthBytes >= 0) at = this.#encoder.encodeOwn('content-length', String(lengthBytes), bytes, at);
    if (isDated) at = this.#encoder.encodeOwn('date', this.#host.dateNow(), bytes, at);
    output.trim(at);
    const length = at - start;
    const flags = isEnd ? frameFlag.endStream : 0;
    if (length <= this.peerSettings.frameBytesMax) {
      writeFrameHeader(bytes, offset, length, frameType.headers, flags | frameFlag.endHeaders, streamId);
      return;
    }
    const block = Buffer.from(bytes.subarray(start, at));
    output.trim(offset);
    this.#sendLongBlock(streamId, block, flags);
  }

  #sendLongBlock(streamId: number, block: Buffer, flags: number): void {
    const step = this.peerSettings.frameBytesMax;
    for (let at = 0; at < block.length; at += step) {
      const part = block.subarray(at, at + step);
      const isLast = at + step >= block.length ? frameFlag.endHeaders : 0;
      if (at === 0) this.#writeHeader(part.length, frameType.headers, flags | isLast, streamId);
      else this.#writeHeader(part.length, frameType.continuation, isLast, streamId);
      this.output.append(part);
    }
  }
}

function bodyBytesOf(body: AnswerBody): number {
  if (body === undefined) return 0;
  if (body instanceof Uint8Array) return body.length;
  let bytes = 0;
  for (const piece of body) bytes += piece.length;
  return bytes;
}
