/** Everything about a connection that depends on time, checked once a second: one wheel entry and a few timestamps. */

import { errorCode } from '@millrace/http2';
import { checkMsMax, checkMsOf, isBodyQuickEnough, lingerMs } from '../wire/connection-check.ts';
import { isTooLittle, ResponsePace } from '../wire/response-pace.ts';
import { WheelEntry } from '../wire/timing-wheel.ts';
import type { Http2Connection } from './connection.ts';
import type { Http2Stream } from './stream.ts';

/** In the place of a time: nothing was waited for when the stream was last checked. */
const notWaiting = -1;

export class ConnectionTimes extends WheelEntry {
  readonly #connection: Http2Connection;
  readonly #bornMs: number;
  /** When streams were last checked: what is waited for now and was not then, has been waited for since. */
  #checkedMs: number;
  #receivedMs: number;
  #answeredMs: number;
  #pingedMs = -1;
  #endingMs = -1;
  #drainingMs = -1;
  readonly #pace: ResponsePace;
  /** When the client last pinged with nothing sent since, and how often it pinged too soon. */
  #clientPingMs = Number.NEGATIVE_INFINITY;
  #pingStrikes = 0;

  constructor(connection: Http2Connection) {
    super();
    this.#connection = connection;
    const nowMs = connection.nowMs;
    this.#bornMs = nowMs;
    this.#checkedMs = nowMs;
    this.#receivedMs = nowMs;
    this.#answeredMs = nowMs;
    this.#pace = new ResponsePace(nowMs);
    connection.host.wheel.set(this, nowMs + this.#checkMs());
  }

  #checkMs(): number {
    const { limits } = this.#connection.host;
    return Math.min(checkMsOf(limits), limits.keepAliveTimeoutMs, limits.keepAlivePingMs);
  }

  /**
   * When the last request was answered, or the connection opened; while a header block or frame arrives, when that
   * began.
   */
  get restingSinceMs(): number {
    const { receiver, isInFrame } = this.#connection;
    if (receiver.block.streamId !== 0) return receiver.block.startedMs;
    return isInFrame ? this.#receivedMs : this.#answeredMs;
  }

  onReceived(): void {
    this.#receivedMs = this.#connection.nowMs;
    this.#pingedMs = -1;
  }

  /** A request was answered: the connection is not idle. */
  onAnswered(): void {
    this.#answeredMs = this.#connection.nowMs;
  }

  /** Something was sent to the client, so it may ping again: gRPC clients measure the bandwidth with pings. */
  onServed(): void {
    this.#clientPingMs = Number.NEGATIVE_INFINITY;
    this.#pingStrikes = 0;
  }

  onEnding(): void {
    if (this.#endingMs < 0) this.#endingMs = this.#connection.nowMs;
  }

  stop(): void {
    this.#connection.host.wheel.clear(this);
  }

  /** Whether the client may send this ping, or pings too often. */
  mayPing(): boolean {
    const { pingIntervalMsMin, pingStrikesMax } = this.#connection.host.limits;
    const nowMs = this.#connection.nowMs;
    if (nowMs - this.#clientPingMs < pingIntervalMsMin) this.#pingStrikes++;
    this.#clientPingMs = nowMs;
    return this.#pingStrikes <= pingStrikesMax;
  }

  override onDue(nowMs: number): void {
    const connection = this.#connection;
    if (this.#check(nowMs) && !connection.isClosed) connection.host.wheel.set(this, nowMs + this.#checkMs());
    connection.flush();
  }

  /** False when the connection was destroyed. */
  #check(nowMs: number): boolean {
    const connection = this.#connection;
    const { limits } = connection.host;
    // While answers are still being read, only the limits for slow readers apply.
    if (this.#endingMs >= 0 && connection.transport.pendingBytes > 0) this.#endingMs = nowMs;
    const isGone =
      (this.#endingMs >= 0 && nowMs - this.#endingMs >= lingerMs) ||
      (this.#drainingMs >= 0 && nowMs - this.#drainingMs >= limits.connectionAgeGraceMs) ||
      this.#isStalled(nowMs);
    if (isGone) {
      connection.transport.destroy();
      return false;
    }
    if (connection.isStopped) return true;
    this.#checkInput(nowMs);
    if (!connection.isStopped) this.#checkStreams(nowMs);
    this.#checkedMs = nowMs;
    if (!connection.isStopped) this.#checkAge(nowMs);
    return true;
  }

  /** Output is pending and the transport takes too little of it. */
  #isStalled(nowMs: number): boolean {
    const { transport, host } = this.#connection;
    return this.#pace.isTooSlow(transport.pendingBytes > 0, transport.takenBytes, host.limits, nowMs);
  }

  #checkInput(nowMs: number): void {
    const connection = this.#connection;
    const { limits } = connection.host;
    const block = connection.receiver.block;
    if (!connection.isEstablished && nowMs - this.#bornMs >= limits.prefaceMsMax) {
      connection.fail(errorCode.settingsTimeout, 'no preface in time');
    } else if (block.streamId !== 0 && nowMs - block.startedMs >= limits.headMsMax) {
      connection.fail(errorCode.enhanceYourCalm, 'header block not complete in time');
    } else if (connection.isInFrame && nowMs - this.#receivedMs >= limits.headMsMax) {
      connection.fail(errorCode.enhanceYourCalm, 'frame not complete in time');
    } else if (this.#pingedMs >= 0) {
      if (nowMs - this.#pingedMs >= limits.keepAliveTimeoutMs) {
        connection.fail(errorCode.noError, 'keepalive ping not answered');
        connection.transport.destroy();
      }
    } else if (nowMs - this.#receivedMs >= limits.keepAlivePingMs) {
      this.#pingedMs = nowMs;
      connection.ping();
    }
  }

  #checkStreams(nowMs: number): void {
    for (const stream of this.#connection.receiver.streams.values()) {
      if (this.#isTakenTooSlowly(stream, nowMs)) {
        this.#connection.resetStream(stream, errorCode.cancel, 'the client did not read the response in time');
        this.#connection.countReset();
      } else if (stream.isStarved) this.#checkStarved(stream, nowMs);
      else if (!stream.isFlowing || !stream.isBodyDue) {
        if (stream.rateCheckedMs !== notWaiting) stream.rateCheckedMs = notWaiting;
        stream.rateCheckedBytes = stream.bodyBytes;
      } else if (!this.#isBodyComing(stream, nowMs)) {
        this.#connection.resetStream(stream, errorCode.cancel, 'the request body arrived too slowly');
        this.#connection.countReset();
      }
      if (this.#connection.isStopped) return;
    }
  }

  /** Waiting for memory is not the client's fault: no reset; the request is refused with its own error. */
  #checkStarved(stream: Http2Stream, nowMs: number): void {
    if (stream.starvedMs < 0) stream.starvedMs = nowMs;
    else if (nowMs - stream.starvedMs >= this.#connection.host.limits.memoryWaitMsMax) stream.refuse();
    stream.rateCheckedMs = nowMs;
    stream.rateCheckedBytes = stream.bodyBytes;
  }

  /**
   * As for the connection, but for one stream, whose window the client opens. Plain numbers, because streams are many, and
   * nothing new is stored for those that are idle.
   */
  #isTakenTooSlowly(stream: Http2Stream, nowMs: number): boolean {
    if (stream.pendingBytes === 0) {
      if (stream.paceMs !== notWaiting) stream.paceMs = notWaiting;
      stream.paceBytes = stream.sentBytes;
      return false;
    }
    const { limits } = this.#connection.host;
    if (stream.paceMs === notWaiting) stream.paceMs = this.#checkedMs;
    const elapsedMs = nowMs - stream.paceMs;
    if (elapsedMs < limits.responseStallMsMax) return false;
    const taken = stream.sentBytes - stream.paceBytes;
    stream.paceMs = nowMs;
    stream.paceBytes = stream.sentBytes;
    return isTooLittle(taken, elapsedMs, limits);
  }

  #isBodyComing(stream: Http2Stream, nowMs: number): boolean {
    const { limits } = this.#connection.host;
    if (nowMs - stream.bornMs >= limits.bodyMsMax) return false;
    if (stream.rateCheckedMs === notWaiting) stream.rateCheckedMs = this.#checkedMs;
    const sinceMs = nowMs - stream.rateCheckedMs;
    if (sinceMs < limits.bodyStallMsMax) return true;
    const bytes = stream.bodyBytes - stream.rateCheckedBytes;
    stream.rateCheckedBytes = stream.bodyBytes;
    stream.rateCheckedMs = nowMs;
    return isBodyQuickEnough(bytes, sinceMs, limits);
  }

  #checkAge(nowMs: number): void {
    const connection = this.#connection;
    const { limits } = connection.host;
    if (nowMs - this.#bornMs >= limits.connectionAgeMsMax && !connection.isDraining) {
      this.#drainingMs = nowMs;
      connection.drain();
    }
    const isIdle = connection.receiver.streams.size === 0 && connection.isEstablished;
    if (isIdle && nowMs - this.#answeredMs >= limits.idleMsMax) connection.drain();
    // A client that does not answer the ping of a drain gets its final GOAWAY one check later.
    if (connection.isDraining && isIdle && nowMs - this.#receivedMs >= checkMsMax) connection.finishDrain();
  }
}
