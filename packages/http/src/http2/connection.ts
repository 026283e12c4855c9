/**
 * The server's end of an HTTP/2 connection (RFC 9113): bytes in by `receive`, bytes out through the transport, each
 * request to the host's handler as an `Http2Stream`. It has no socket and no timer of its own.
 */

import {
  clientPreface,
  errorCode,
  type FrameSink,
  frameFlag,
  frameType,
  type Http2ErrorCode,
  Http2FrameReader,
  sendGoaway,
  sendPing,
  sendReset,
  sendSettings,
  sendWindowUpdate,
  settingId,
  streamIdMax,
} from '@millrace/http2';
import type { Peer } from '../exchange.ts';
import type { LentBody, ReadTarget } from '../wire/body-pool.ts';
import { keptCopyOf } from '../wire/byte-gatherer.ts';
import type { HttpLimits } from '../wire/config.ts';
import { type ConnectionHost, memoryFor } from '../wire/connection-host.ts';
import { inputTurns } from '../wire/input-turns.ts';
import { LateBytes } from '../wire/late-bytes.ts';
import type { ConnectionMemory } from '../wire/memory.ts';
import { Output } from '../wire/output.ts';
import { TokenBucket } from '../wire/token-bucket.ts';
import type { Connection, Transport } from '../wire/transport.ts';
import type { RequestHead } from '../wire/wire-exchange.ts';
import { piecesPerTurn, type YieldingConnection, yieldTurn } from '../wire/yield-turn.ts';
import { ConnectionTimes } from './connection-times.ts';
import { ControlReceiver } from './control-receiver.ts';
import { type FramedReader, readFrames } from './framed-input.ts';
import { isCreditDue, RequestReceiver } from './request-receiver.ts';
import { Http2Sender } from './sender.ts';
import type { Http2Stream } from './stream.ts';

/** Control frames that a client may send in addition for each answered request. */
const tokensPerRequest = 4;
/**
 * Answers to the requests of one chunk are flushed after this many, not only at its end: the client works on them while
 * the server works on the rest, instead of each waiting for the other.
 */
const answersPerFlush = 16;
/** The payload of our pings says what they are for. */
const keepAliveMark = Buffer.from('millkeep', 'latin1');
const drainMark = Buffer.from('milldrai', 'latin1');

export class Http2Connection implements Connection, FrameSink, FramedReader, YieldingConnection {
  readonly host: ConnectionHost;
  readonly transport: Transport;
  readonly sender: Http2Sender;
  readonly receiver: RequestReceiver;
  readonly times: ConnectionTimes;
  readonly #reader: Http2FrameReader;
  readonly #control: ControlReceiver;
  readonly #controlFrames: TokenBucket;
  readonly #memory: ConnectionMemory;
  readonly #resets: TokenBucket;
  #prefaceHave = 0;
  #isReceiving: boolean = false;
  /** What is being read is valid until `receiveLent` returns. */
  isInputLent: boolean = false;
  readonly #late = new LateBytes();
  #isFlushQueued: boolean = false;
  #answersUnflushed = 0;
  #isInputPaused: boolean = false;
  #framesOfChunk = 0;
  #requestsOfTurn = 0;
  /** The part of a chunk that is left for the next turn. */
  #rest: Buffer | undefined = undefined;
  isYielding: boolean = false;
  #goaway: 'none' | 'announced' | 'final' = 'none';
  /** The client has sent its preface and first SETTINGS. */
  isEstablished: boolean = false;
  isStopped: boolean = false;
  isClosed: boolean = false;

  constructor(host: ConnectionHost, transport: Transport) {
    const { limits, wheel } = host;
    this.#memory = host.memory.connection(transport.peer.owner);
    this.host = host;
    this.transport = transport;
    this.#controlFrames = new TokenBucket(limits.controlFramesBurstMax, limits.controlFramesPerSecondMax, wheel.nowMs);
    this.#resets = new TokenBucket(limits.resetsBurstMax, limits.resetsPerSecondMax, wheel.nowMs);
    this.sender = new Http2Sender(host, new Output(host.arena, transport), this.#controlFrames);
    this.receiver = new RequestReceiver(this);
    this.#control = new ControlReceiver(this);
    this.#reader = new Http2FrameReader(this);
    this.times = new ConnectionTimes(this);
    sendSettings(this.sender.output, settingsOf(limits), limits.connectionWindowBytes);
  }

  get isInputHeld(): boolean {
    return this.#isInputPaused;
  }

  get peer(): Peer {
    return this.transport.peer;
  }

  memoryFor(head: RequestHead): ConnectionMemory {
    return memoryFor(this.host, this.#memory, head.headers, this.peer);
  }

  get nowMs(): number {
    return this.host.wheel.nowMs;
  }

  get isInFrame(): boolean {
    return this.#reader.isInFrame;
  }

  get idleSinceMs(): number {
    const isBusy = this.receiver.activeCount > 0 || this.isClosed || this.sender.output.unsentBytes > 0;
    return isBusy ? Number.POSITIVE_INFINITY : this.times.restingSinceMs;
  }

  /** Closes a connection without a request, with a GOAWAY that names the last request taken. */
  endIdle(): void {
    this.finishDrain();
  }

  /** No new requests are taken. */
  get isDraining(): boolean {
    return this.#goaway !== 'none';
  }

  receive(bytes: Buffer): void {
    if (this.isStopped) {
      this.#late.skip(bytes.length, this.transport);
      return;
    }
    this.times.onReceived();
    // Bytes that the socket still had when it was paused come after what is left.
    if (this.#rest !== undefined) this.#rest = Buffer.concat([this.#rest, bytes]);
    else this.#read(bytes, this.#prefaceHave < clientPreface.length ? this.#readPreface(bytes) : 0);
  }

  receiveLent(bytes: Buffer): void {
    this.isInputLent = true;
    this.receive(bytes);
    this.isInputLent = false;
  }

  readTarget(): ReadTarget | undefined {
    const leftBytes = this.#reader.dataLeftBytes;
    if (leftBytes === 0 || this.isStopped || this.isYielding || this.isInputHeld) return undefined;
    return this.receiver.readTarget(leftBytes, this.#reader.isPadded);
  }

  receiveInto(target: ReadTarget, count: number): void {
    this.#receiveTarget(target, count, undefined);
  }

  receiveFrames(target: ReadTarget, heads: Buffer, count: number): void {
    this.#receiveTarget(target, count, heads);
  }

  #receiveTarget(target: ReadTarget, count: number, heads: Buffer | undefined): void {
    if (this.isStopped) {
      this.#late.skip(count, this.transport);
      return;
    }
    this.times.onReceived();
    this.#beginReading();
    let rest: Buffer | undefined;
    if (heads === undefined) this.readWritten(target, count);
    else {
      this.isInputLent = true;
      rest = readFrames(this, target, heads, count);
      this.isInputLent = false;
    }
    this.#isReceiving = false;
    if (rest === undefined) this.flush();
    else {
      this.receiver.noteOddFrames();
      this.receive(rest);
    }
  }

  get dataLeftBytes(): number {
    return this.#reader.dataLeftBytes;
  }

  offsetIn(lent: LentBody): number {
    return this.receiver.offsetIn(lent);
  }

  readWritten({ lent }: ReadTarget, bytes: number): void {
    // The connection may have failed between two frames.
    if (this.isStopped) return;
    this.receiver.dataWritten(bytes, lent);
    if (!this.isStopped) this.#reader.skipData(bytes);
  }

  readHead(head: Buffer): boolean {
    this.#reader.read(head, 0);
    return !this.isStopped;
  }

  #beginReading(): void {
    this.#isReceiving = true;
    this.#framesOfChunk = 0;
    this.#requestsOfTurn = 0;
  }

  #read(bytes: Buffer, from: number): void {
    this.#beginReading();
    const stoppedAt = this.#reader.read(bytes, from);
    this.#isReceiving = false;
    this.flush();
    if (this.isStopped) return;
    if (stoppedAt < bytes.length) {
      const rest = bytes.subarray(stoppedAt);
      this.#rest = this.isInputLent ? keptCopyOf(rest) : rest;
      this.#goOnLater();
    } else if (this.#framesOfChunk > piecesPerTurn) yieldTurn(this);
  }

  /** Continues with the rest of a chunk in the next turn of the event loop, after the other connections. */
  #goOnLater(): void {
    this.isYielding = true;
    this.transport.pause();
    inputTurns.goOnLater(this.peer.owner, () => {
      this.isYielding = false;
      const rest = this.#rest;
      this.#rest = undefined;
      if (rest === undefined || this.isStopped) return;
      this.#read(rest, 0);
      if (!this.isYielding && !this.isInputHeld && !this.isClosed) this.transport.resume();
    });
  }

  get isTurnOver(): boolean {
    return this.#requestsOfTurn >= this.host.requestsPerTurn;
  }

  /** For the receiver: a request has begun. */
  onRequestBegins(): void {
    this.#requestsOfTurn++;
  }

  receiveEnd(): void {
    this.stop('the client closed the connection');
    this.flush();
    this.transport.end();
  }

  onWritable(): void {
    if (this.#isInputPaused) {
      this.#isInputPaused = false;
      if (!this.isYielding) this.transport.resume();
    }
    this.flush();
  }

  onClosed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.stop('the connection was closed');
    this.times.stop();
    this.sender.output.discard();
    this.#memory.close();
  }

  flush(): void {
    this.#isFlushQueued = false;
    this.#answersUnflushed = 0;
    if (this.isClosed) return;
    if (!this.isStopped) this.sender.pump();
    this.sender.output.flush();
    // Nothing is read from a client that takes no output, so that the output it causes stays bounded.
    if (!this.#isInputPaused && this.transport.pendingBytes > 2 * this.host.limits.outputBytesMax) {
      this.#isInputPaused = true;
      this.transport.pause();
    }
  }

  /** Something was written: it is flushed at the end of the tick, or of the chunk being read. */
  flushSoon(): void {
    if (this.#isReceiving || this.#isFlushQueued || this.isClosed) return;
    this.#isFlushQueued = true;
    this.host.flushLater(this);
  }

  /** Announces the end twice: requests in transit when the first GOAWAY arrives are still taken (6.8). */
  drain(): void {
    if (this.#goaway !== 'none' || this.isStopped) return;
    this.#goaway = 'announced';
    sendGoaway(this.sender.output, streamIdMax, errorCode.noError, '');
    sendPing(this.sender.output, false, drainMark, 0);
    this.flushSoon();
  }

  /** The second GOAWAY: streams above its number are ignored. */
  finishDrain(): void {
    if (this.#goaway === 'final' || this.isStopped) return;
    this.#goaway = 'final';
    sendGoaway(this.sender.output, this.receiver.refuseFurther(), errorCode.noError, '');
    this.#endIfDone();
    this.flushSoon();
  }

  /** A connection error: sends the reason and closes. */
  fail(code: Http2ErrorCode, reason: string): void {
    if (this.isStopped) return;
    this.stop(reason);
    sendGoaway(this.sender.output, this.receiver.lastStreamId, code, reason);
    this.#end();
  }

  onPingAnswered(bytes: Buffer, start: number, end: number): void {
    if (this.#goaway === 'announced' && drainMark.compare(bytes, start, end) === 0) this.finishDrain();
  }

  ping(): void {
    sendPing(this.sender.output, false, keepAliveMark, 0);
    this.flushSoon();
  }

  /** A stream error that the client caused: it is counted, so that a client cannot provoke resets without limit. */
  rejectStream(streamId: number, code: Http2ErrorCode): void {
    sendReset(this.sender.output, streamId, code);
    this.receiver.closed.addReset(streamId, false);
    this.countReset();
  }

  countReset(): void {
    if (!this.#resets.spend(this.nowMs)) this.fail(errorCode.enhanceYourCalm, 'too_many_resets');
  }

  resetStream(stream: Http2Stream, code: Http2ErrorCode, reason: string): void {
    if (stream.isClosed) return;
    sendReset(this.sender.output, stream.id, code);
    this.receiver.closed.addReset(stream.id, false);
    this.close(stream, reason);
    this.flushSoon();
  }

  /** The application consumed body bytes of a stream. */
  creditStream(stream: Http2Stream, bytes: number): void {
    this.creditConnection(bytes);
    if (stream.isBodyComplete || stream.isClosed) return;
    stream.unannouncedBytes += bytes;
    if (!isCreditDue(stream.unannouncedBytes, stream.receiveWindow, this.host.limits.streamWindowBytes)) return;
    sendWindowUpdate(this.sender.output, stream.id, stream.unannouncedBytes);
    stream.receiveWindow += stream.unannouncedBytes;
    stream.unannouncedBytes = 0;
    this.flushSoon();
  }

  creditConnection(bytes: number): void {
    this.#sendCredit(this.receiver.credit(bytes));
  }

  #sendCredit(announced: number): void {
    if (announced === 0 || this.isStopped) return;
    sendWindowUpdate(this.sender.output, 0, announced);
    this.flushSoon();
  }

  /** The response is complete on the wire. */
  onLocalEnd(stream: Http2Stream): void {
    stream.isLocalEnded = true;
    this.#answersUnflushed++;
    this.#controlFrames.refund(tokensPerRequest);
    this.times.onAnswered();
    this.#sendCredit(this.receiver.creditWithAnswer());
    if (stream.isBodyComplete) this.close(stream, '');
    else this.resetStream(stream, errorCode.noError, 'answered before the body was complete');
  }

  /** The request is complete on the wire. */
  onRemoteEnd(stream: Http2Stream): void {
    if (stream.isLocalEnded) this.close(stream, '');
  }

  /** The application has finished with a stream that was closed before. */
  onStreamSettled(): void {
    this.receiver.activeCount--;
    this.#endIfDone();
  }

  /** The stream ended; a reason means that it was cut short. */
  close(stream: Http2Stream, reason: string): void {
    if (stream.isClosed) return;
    stream.isClosed = true;
    this.receiver.streams.delete(stream.id);
    stream.dropPending();
    const wasSettled = stream.isSettled;
    if (reason === '' || stream.isLocalEnded) this.creditConnection(stream.discardBody());
    else this.creditConnection(stream.acceptAbort(reason));
    if (wasSettled) this.onStreamSettled();
  }

  #endIfDone(): void {
    if (this.#goaway === 'final' && this.receiver.streams.size === 0 && !this.isStopped) {
      this.stop('');
      this.#end();
    }
  }

  #end(): void {
    this.flush();
    this.times.onEnding();
    this.transport.end();
  }

  /** Receives and sends nothing more; requests in progress are aborted. */
  stop(reason: string): void {
    this.isStopped = true;
    for (const stream of this.receiver.streams.values()) this.close(stream, reason);
  }

  #readPreface(bytes: Buffer): number {
    const taken = Math.min(clientPreface.length - this.#prefaceHave, bytes.length);
    if (clientPreface.compare(bytes, 0, taken, this.#prefaceHave, this.#prefaceHave + taken) !== 0) {
      this.fail(errorCode.protocolError, 'bad connection preface');
    }
    this.#prefaceHave += taken;
    return taken;
  }

  /** A frame that advances no request; false when there were too many. */
  countFrame(): boolean {
    if (this.#controlFrames.spend(this.nowMs)) return true;
    this.fail(errorCode.enhanceYourCalm, 'too_many_control_frames');
    return false;
  }

  onFrameBegin(type: number, flags: number, streamId: number, length: number): boolean {
    const { limits } = this.host;
    this.#framesOfChunk++;
    if (length > limits.frameBytesMax) this.fail(errorCode.frameSizeError, 'frame larger than SETTINGS_MAX_FRAME_SIZE');
    else if (!this.isEstablished && (type !== frameType.settings || (flags & frameFlag.ack) !== 0)) {
      this.fail(errorCode.protocolError, 'the first frame must be SETTINGS');
    } else if (this.receiver.block.streamId !== 0) {
      if (type !== frameType.continuation || streamId !== this.receiver.block.streamId) {
        this.fail(errorCode.protocolError, 'a header block was interrupted');
      }
    } else if (type === frameType.continuation) this.fail(errorCode.protocolError, 'CONTINUATION without HEADERS');
    else if (type === frameType.data) return this.receiver.beginData(flags, streamId, length);
    else if (type > frameType.continuation) this.countFrame();
    if ((type === frameType.headers || type === frameType.continuation) && length > limits.headBytesMax + 256) {
      this.fail(errorCode.enhanceYourCalm, 'header block too large');
    }
    return !this.isStopped;
  }

  onDataBegin(dataBytes: number): void {
    this.receiver.dataBegins(dataBytes);
  }

  onDataPiece(piece: Buffer): void {
    this.receiver.dataPiece(piece);
  }

  onDataEnd(): void {
    if (this.receiver.dataEnds()) this.countFrame();
    if (this.#answersUnflushed >= answersPerFlush) this.flush();
  }

  onBadPadding(): void {
    this.fail(errorCode.protocolError, 'padding longer than its frame');
  }

  onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (type === frameType.headers) this.receiver.headers(flags, streamId, bytes, start, end);
    else if (type === frameType.continuation) this.receiver.continuation(flags, bytes, start, end);
    else this.#control.receive(type, flags, streamId, bytes, start, end);
  }
}

/** What the server announces. */
function settingsOf(limits: HttpLimits): readonly (readonly [id: number, value: number])[] {
  return [
    [settingId.maxConcurrentStreams, limits.streamsMax],
    [settingId.initialWindowSize, limits.streamWindowBytes],
    [settingId.maxFrameSize, limits.frameBytesMax],
    [settingId.maxHeaderListSize, limits.headerListBytesMax],
  ];
}
