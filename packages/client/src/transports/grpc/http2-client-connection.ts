/**
 * The client's end of an HTTP/2 connection (RFC 9113), as far as gRPC needs it: bytes in by `receive`, bytes out through
 * `write`. It has no socket and no timer of its own.
 */
import {
  clientPreface,
  errorCode,
  type FrameSink,
  frameFlag,
  frameType,
  HeaderBlock,
  type HeaderField,
  HpackDecoder,
  HpackEncoder,
  Http2FrameReader,
  http2FrameHeaderBytes,
  PeerSettings,
  readUint32BigEndian,
  sendGoaway,
  sendPing,
  sendReset,
  sendSettings,
  sendSettingsAck,
  sendWindowUpdate,
  settingId,
  streamIdMax,
  windowBytesDefault,
  windowBytesMax,
  writeFrameHeader,
} from '@millrace/http2';
import { IdMap } from '@millrace/protocol';
import { MillraceError, unprocessed, unreachable } from '../../errors/millrace-error.ts';
import { BrokenAnswer } from '../rpc/message-reader.ts';
import { type RpcAnswerListener, type RpcField, type RpcOutcome, statusCode } from '../rpc/rpc-call.ts';
import {
  brokenOutcome,
  faultOutcome,
  headProblem,
  lostOutcome,
  outcomeFromTrailers,
  takeField,
} from '../rpc/rpc-outcome.ts';
import { CallStream } from './call-stream.ts';
import { FrameBatch } from './frame-batch.ts';

const contentTypes = ['application/grpc', 'application/grpc+proto'];
/** Windows for answers: of a stream, and of all streams of the connection. */
const streamWindowBytes = 4 * 1024 * 1024;
const connectionWindowBytes = 16 * 1024 * 1024;
const headerListBytesMax = 64 * 1024;
const headerBlockBytesMax = 128 * 1024;
const continuationFramesMax = 32;
const frameBytesReceivedMax = 65_536;
/** Frames are no larger than this even if the server accepts more. */
const frameBytesSentMax = 65_536;

/** What a frame of a type has at least. */
const payloadBytesMin: Readonly<Record<number, number>> = {
  [frameType.rstStream]: 4,
  [frameType.ping]: 8,
  [frameType.goaway]: 8,
  [frameType.windowUpdate]: 4,
};

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

export interface ConnectionOwner {
  write(pieces: readonly Uint8Array[]): void;
  /** Nothing more comes or goes; every call has been told. */
  onClosed(): void;
  /** Milliseconds, as deadlines of calls count them. */
  nowMs(): number;
  /** A call has ended, or the server allows more of them: another may begin. */
  onRoom(): void;
}

export class Http2ClientConnection implements FrameSink {
  readonly #owner: ConnectionOwner;
  readonly #messageBytesMax: number;
  readonly #output: FrameBatch;
  readonly #reader: Http2FrameReader;
  readonly #encoder = new HpackEncoder();
  readonly #decoder = new HpackDecoder();
  readonly #block = new HeaderBlock();
  readonly #peer = new PeerSettings();
  readonly #streams = new IdMap<CallStream>();
  readonly #blocked = new Set<CallStream>();
  readonly #pings = new Map<number, () => void>();
  #nextId = 1;
  #nextPing = 1;
  #sendWindow = windowBytesDefault;
  #consumedBytes = 0;
  #dataStream: CallStream | undefined = undefined;
  #dataFlags = 0;
  #dataLength = 0;
  /** The server takes no further calls on this connection. */
  isLeaving: boolean = false;
  /** The server has begun as every server of HTTP/2 does, with SETTINGS. */
  isHttp2: boolean = false;
  isStopped: boolean = false;
  readonly isTurnOver: boolean = false;

  constructor(owner: ConnectionOwner, messageBytesMax: number) {
    this.#owner = owner;
    this.#messageBytesMax = messageBytesMax;
    this.#output = new FrameBatch((pieces) => owner.write(pieces));
    this.#reader = new Http2FrameReader(this);
    this.#output.append(clientPreface);
    const settings = [
      [settingId.enablePush, 0],
      [settingId.initialWindowSize, streamWindowBytes],
      [settingId.maxFrameSize, frameBytesReceivedMax],
      [settingId.maxHeaderListSize, headerListBytesMax],
    ] as const;
    sendSettings(this.#output, settings, connectionWindowBytes);
  }

  get callCount(): number {
    return this.#streams.size;
  }

  /** Whether another call may begin now. */
  get hasRoom(): boolean {
    return !this.isLeaving && !this.isStopped && this.#streams.size < this.#peer.streamsMax;
  }

  receive(bytes: Buffer): void {
    this.#reader.read(bytes, 0);
  }

  /** Begins a call; a body that is whole ends it. The message has its prefix. */
  begin(
    fields: HeaderPairs,
    body: readonly Uint8Array[],
    isWhole: boolean,
    deadlineAtMs: number,
    listener: RpcAnswerListener,
  ): CallStream {
    const { windowBytes } = this.#peer;
    const stream = new CallStream(this.#nextId, windowBytes, this.#messageBytesMax, deadlineAtMs, listener);
    this.#nextId += 2;
    if (this.#nextId > streamIdMax - 2) this.isLeaving = true;
    this.#streams.set(stream.id, stream);
    this.#sendHead(stream.id, fields);
    this.send(stream, body, isWhole);
    return stream;
  }

  send(stream: CallStream, body: readonly Uint8Array[], isEnd: boolean): void {
    if (stream.isOver || stream.isEndDue) return;
    for (const piece of body) {
      if (piece.length === 0) continue;
      stream.pending.push(piece);
      stream.pendingBytes += piece.length;
    }
    stream.isEndDue = isEnd;
    this.#pump(stream);
  }

  /** Ends a call that nobody waits for; `onEnd` does not follow. */
  stop(stream: CallStream): void {
    if (stream.isOver) return;
    sendReset(this.#output, stream.id, errorCode.cancel);
    this.#forget(stream);
  }

  ping(onAnswer: () => void): void {
    const mark = Buffer.alloc(8);
    mark.writeUInt32BE(this.#nextPing, 4);
    this.#pings.set(this.#nextPing, onAnswer);
    this.#nextPing += 1;
    sendPing(this.#output, false, mark, 0);
  }

  /** The server broke the protocol. */
  fail(code: number, message: string): void {
    if (this.isStopped) return;
    sendGoaway(this.#output, 0, code, '');
    this.onLost(unreachable(`the connection broke: ${message}`, true));
  }

  /** The connection is gone: all calls fail. */
  onLost(error: MillraceError): void {
    if (this.isStopped) return;
    this.isStopped = true;
    const streams = this.#streams.values();
    this.#streams.clear();
    this.#blocked.clear();
    for (const stream of streams) this.#lose(stream, lostOutcome(error));
    this.#owner.onClosed();
  }

  #sendHead(streamId: number, fields: HeaderPairs): void {
    const output = this.#output;
    const offset = output.reserve(http2FrameHeaderBytes + HpackEncoder.bytesMax(fields));
    const { bytes } = output;
    const start = offset + http2FrameHeaderBytes;
    let at = this.#encoder.begin(bytes, start);
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] as readonly [string, string];
      at = this.#encoder.encodeOwn(field[0], field[1], bytes, at);
    }
    // Longer blocks would need CONTINUATION, and servers refuse them: the pool checks the fields before.
    writeFrameHeader(bytes, offset, at - start, frameType.headers, frameFlag.endHeaders, streamId);
    output.trim(at);
  }

  /** Sends what the windows allow. */
  #pump(stream: CallStream): void {
    const frameMax = Math.min(this.#peer.frameBytesMax, frameBytesSentMax);
    while (stream.pendingBytes > 0) {
      const bytes = Math.min(stream.pendingBytes, stream.sendWindow, this.#sendWindow, frameMax);
      if (bytes <= 0) {
        this.#blocked.add(stream);
        return;
      }
      this.#sendData(stream, bytes);
    }
    this.#blocked.delete(stream);
    if (!stream.isEndDue || stream.isLocalDone) return;
    stream.isLocalDone = true;
    const offset = this.#output.reserve(http2FrameHeaderBytes);
    writeFrameHeader(this.#output.bytes, offset, 0, frameType.data, frameFlag.endStream, stream.id);
  }

  #sendData(stream: CallStream, bytes: number): void {
    const isLast = bytes === stream.pendingBytes && stream.isEndDue;
    const offset = this.#output.reserve(http2FrameHeaderBytes);
    const flags = isLast ? frameFlag.endStream : 0;
    writeFrameHeader(this.#output.bytes, offset, bytes, frameType.data, flags, stream.id);
    stream.isLocalDone = isLast;
    stream.sendWindow -= bytes;
    stream.pendingBytes -= bytes;
    this.#sendWindow -= bytes;
    let left = bytes;
    while (left > 0) {
      const piece = stream.pending[0] as Uint8Array;
      const part = piece.subarray(stream.pendingAt, stream.pendingAt + left);
      this.#output.append(part);
      left -= part.length;
      stream.pendingAt += part.length;
      if (stream.pendingAt < piece.length) break;
      stream.pending.shift();
      stream.pendingAt = 0;
    }
  }

  onFrameBegin(type: number, flags: number, streamId: number, length: number): boolean {
    if (!this.isHttp2) {
      // Text of HTTP/1.1 reads as a frame too, of another type.
      if (type !== frameType.settings) {
        this.fail(errorCode.protocolError, 'the server does not answer in HTTP/2, which gRPC needs');
        return false;
      }
      this.isHttp2 = true;
    }
    if (this.#block.streamId !== 0 && (type !== frameType.continuation || streamId !== this.#block.streamId)) {
      this.fail(errorCode.protocolError, 'a header block was interrupted');
      return false;
    }
    if (length > frameBytesReceivedMax) {
      this.fail(errorCode.frameSizeError, `a frame has ${length} bytes`);
      return false;
    }
    if (type !== frameType.data) return true;
    this.#dataStream = this.#streams.get(streamId);
    this.#dataFlags = flags;
    this.#dataLength = length;
    if (this.#dataStream === undefined) this.#credit(length);
    return this.#dataStream !== undefined;
  }

  onDataBegin(): void {}

  onDataPiece(piece: Buffer): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.isOver) return;
    if (!stream.hasHead) {
      this.fail(errorCode.protocolError, 'DATA came before HEADERS');
      return;
    }
    try {
      stream.reader.read(piece);
    } catch (error) {
      if (!(error instanceof BrokenAnswer)) throw error;
      this.#refuse(stream, error.outcome, []);
    }
  }

  onDataEnd(): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    this.#credit(this.#dataLength);
    if (stream === undefined || stream.isOver) return;
    if ((this.#dataFlags & frameFlag.endStream) !== 0) {
      this.#end(stream, brokenOutcome('the answer ended without a status'), []);
      return;
    }
    stream.consumedBytes += this.#dataLength;
    if (stream.consumedBytes * 2 < streamWindowBytes) return;
    sendWindowUpdate(this.#output, stream.id, stream.consumedBytes);
    stream.consumedBytes = 0;
  }

  onBadPadding(): void {
    this.fail(errorCode.protocolError, 'padding is longer than its frame');
  }

  #credit(bytes: number): void {
    this.#consumedBytes += bytes;
    if (this.#consumedBytes * 2 < connectionWindowBytes) return;
    sendWindowUpdate(this.#output, 0, this.#consumedBytes);
    this.#consumedBytes = 0;
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (end - start < (payloadBytesMin[type] ?? 0)) {
      this.fail(errorCode.frameSizeError, `a frame of type ${type} has ${end - start} bytes`);
      return;
    }
    switch (type) {
      case frameType.headers:
        this.#onHeaders(flags, streamId, bytes, start, end);
        break;
      case frameType.continuation:
        this.#onContinuation(flags, bytes.subarray(start, end));
        break;
      case frameType.rstStream:
        this.#onReset(streamId, readUint32BigEndian(bytes, start));
        break;
      case frameType.settings:
        this.#onSettings(flags, bytes, start, end);
        break;
      case frameType.ping:
        if ((flags & frameFlag.ack) === 0) sendPing(this.#output, true, bytes, start);
        else this.#onPong(readUint32BigEndian(bytes, start + 4));
        break;
      case frameType.goaway:
        this.#onGoaway(readUint32BigEndian(bytes, start) & 0x7fffffff);
        break;
      case frameType.windowUpdate:
        this.#onWindowUpdate(streamId, readUint32BigEndian(bytes, start) & 0x7fffffff);
        break;
      case frameType.pushPromise:
        this.fail(errorCode.protocolError, 'the server pushes, which was forbidden');
        break;
    }
  }

  #onHeaders(flags: number, streamId: number, bytes: Buffer, from: number, to: number): void {
    let [start, end] = [from, to];
    if ((flags & frameFlag.padded) !== 0) end -= bytes[start++] as number;
    if ((flags & frameFlag.priority) !== 0) start += 5;
    if (start > end) {
      this.onBadPadding();
      return;
    }
    const isEnd = (flags & frameFlag.endStream) !== 0;
    if ((flags & frameFlag.endHeaders) !== 0) {
      this.#onBlock(streamId, bytes, start, end, isEnd);
      return;
    }
    this.#block.begin(streamId, isEnd, false, 0);
    this.#gather(bytes.subarray(start, end));
  }

  #onContinuation(flags: number, fragment: Buffer): void {
    if (this.#block.streamId === 0) {
      this.fail(errorCode.protocolError, 'CONTINUATION without HEADERS');
      return;
    }
    if (!this.#gather(fragment) || (flags & frameFlag.endHeaders) === 0) return;
    const { streamId, isEndStream } = this.#block;
    const whole = this.#block.finish();
    this.#onBlock(streamId, whole, 0, whole.length, isEndStream);
  }

  #gather(fragment: Buffer): boolean {
    if (this.#block.add(fragment, headerBlockBytesMax, continuationFramesMax)) return true;
    this.fail(errorCode.enhanceYourCalm, 'a header block is too large');
    return false;
  }

  #onBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void {
    const fields: HeaderField[] = [];
    const result = this.#decoder.decode(bytes, start, end, fields, headerListBytesMax);
    if (result === 'compression-error' || result === 'bomb') {
      this.fail(errorCode.compressionError, 'a header block cannot be read');
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (result === 'list-too-large') {
      const told = `the header fields of the answer have more than ${headerListBytesMax} bytes`;
      this.#refuse(stream, faultOutcome(statusCode.resourceExhausted, unreachable(told, true)), []);
      return;
    }
    if (isEnd) this.#end(stream, outcomeOf(stream, fields), fields);
    else if (stream.hasHead) this.#refuse(stream, brokenOutcome('trailers do not end the answer'), fields);
    else if (!isInterim(fields)) this.#onHead(stream, fields);
  }

  #onHead(stream: CallStream, fields: readonly RpcField[]): void {
    const problem = headProblem(httpStatusIn(fields), fields, contentTypes, 'application/grpc+');
    if (problem === undefined) {
      stream.hasHead = true;
      stream.listener.onHead(fields);
    } else this.#refuse(stream, problem, fields);
  }

  /** The rest of an answer is not read. */
  #refuse(stream: CallStream, outcome: RpcOutcome, fields: readonly RpcField[]): void {
    sendReset(this.#output, stream.id, errorCode.cancel);
    stream.isLocalDone = true;
    this.#end(stream, outcome, fields);
  }

  /** The server knows nothing of the call any more. */
  #lose(stream: CallStream, outcome: RpcOutcome): void {
    stream.isLocalDone = true;
    this.#end(stream, outcome, []);
  }

  #onReset(streamId: number, code: number): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (code === errorCode.cancel && this.#owner.nowMs() >= stream.deadlineAtMs) {
      // Servers say it like this, and may be first.
      const late = new MillraceError('deadline-exceeded', 'the server gave the call up at its deadline');
      this.#lose(stream, faultOutcome(statusCode.deadlineExceeded, late));
      return;
    }
    const fault = unreachable(`the server reset the call (HTTP/2 code ${code})`, code !== errorCode.refusedStream);
    this.#lose(stream, faultOutcome(codesByReset[code] ?? statusCode.internal, fault));
  }

  #onSettings(flags: number, bytes: Buffer, start: number, end: number): void {
    if ((flags & frameFlag.ack) !== 0) return;
    const before = this.#peer.windowBytes;
    const code = this.#peer.apply(bytes, start, end);
    if (code !== errorCode.noError) {
      this.fail(code, 'the settings of the server are wrong');
      return;
    }
    this.#encoder.limitTable(this.#peer.headerTableBytes);
    sendSettingsAck(this.#output);
    const difference = this.#peer.windowBytes - before;
    for (const stream of this.#streams.values()) stream.sendWindow += difference;
    if (difference > 0) this.#pumpBlocked();
    this.#owner.onRoom();
  }

  #onPong(mark: number): void {
    const onAnswer = this.#pings.get(mark);
    this.#pings.delete(mark);
    onAnswer?.();
  }

  /** Calls above the last one that it took were never seen. */
  #onGoaway(lastStreamId: number): void {
    this.isLeaving = true;
    for (const stream of this.#streams.values()) {
      if (stream.id > lastStreamId) {
        this.#lose(stream, lostOutcome(unprocessed('the server closes the connection')));
      }
    }
    this.#owner.onRoom();
  }

  #onWindowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      this.#sendWindow += bytes;
      if (this.#sendWindow > windowBytesMax) this.fail(errorCode.flowControlError, 'the window is too large');
      else this.#pumpBlocked();
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.sendWindow += bytes;
    if (this.#blocked.has(stream)) this.#pump(stream);
  }

  #pumpBlocked(): void {
    for (const stream of [...this.#blocked]) this.#pump(stream);
  }

  #end(stream: CallStream, outcome: RpcOutcome, trailers: readonly RpcField[]): void {
    // The answer came before all was sent: the server needs no more of it.
    if (!stream.isLocalDone) sendReset(this.#output, stream.id, errorCode.noError);
    this.#forget(stream);
    stream.listener.onEnd(outcome, trailers);
  }

  #forget(stream: CallStream): void {
    stream.isOver = true;
    stream.pending = [];
    this.#streams.delete(stream.id);
    this.#blocked.delete(stream);
    if (!this.isStopped) this.#owner.onRoom();
  }
}

/** What a reset says, as gRPC maps it. */
const codesByReset: Readonly<Record<number, number>> = {
  [errorCode.refusedStream]: statusCode.unavailable,
  [errorCode.cancel]: statusCode.cancelled,
  [errorCode.enhanceYourCalm]: statusCode.resourceExhausted,
};

/** Trailers, or a head that is all there is. */
function outcomeOf(stream: CallStream, fields: readonly RpcField[]): RpcOutcome {
  if (stream.reader.isInMessage) return brokenOutcome('the answer ended within a message');
  const outcome = outcomeFromTrailers(fields);
  if (outcome !== undefined) return outcome;
  const problem = stream.hasHead
    ? undefined
    : headProblem(httpStatusIn(fields), fields, contentTypes, 'application/grpc+');
  return problem ?? brokenOutcome('the answer has no gRPC status');
}

function httpStatusIn(fields: readonly RpcField[]): number {
  return Number(takeField(fields, ':status'));
}

function isInterim(fields: readonly HeaderField[]): boolean {
  return fields.some(({ name, value }) => name === ':status' && value.startsWith('1'));
}
