/**
 * Receives frames about the connection or its streams that carry no request: SETTINGS, PING, windows, resets, GOAWAY.
 */

import {
  errorCode,
  frameFlag,
  frameType,
  readUint32BigEndian,
  sendPing,
  sendSettingsAck,
  windowBytesMax,
} from '@millrace/http2';
import type { Http2Connection } from './connection.ts';

/** A stream that the client resets sooner than this counts towards the limit of resets. */
const prematureMs = 1000;

export class ControlReceiver {
  readonly #connection: Http2Connection;

  constructor(connection: Http2Connection) {
    this.#connection = connection;
  }

  receive(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (type === frameType.windowUpdate) this.#onWindowUpdate(streamId, bytes, start, end);
    else if (type === frameType.rstStream) this.#onReset(streamId, bytes, start, end);
    else if (type === frameType.ping) this.#onPing(flags, streamId, bytes, start, end);
    else if (type === frameType.settings) this.#onSettings(flags, streamId, bytes, start, end);
    else if (type === frameType.priority) this.#onPriority(streamId, bytes, start, end);
    else if (type === frameType.goaway) this.#onGoaway(streamId, start, end);
    else this.#connection.fail(errorCode.protocolError, 'a client must not push');
  }

  #onWindowUpdate(streamId: number, bytes: Buffer, start: number, end: number): void {
    const connection = this.#connection;
    if (end - start !== 4) {
      connection.fail(errorCode.frameSizeError, 'WINDOW_UPDATE of wrong size');
      return;
    }
    if (!connection.countFrame()) return;
    const increment = readUint32BigEndian(bytes, start) & 0x7fffffff;
    if (streamId === 0) {
      if (increment === 0) connection.fail(errorCode.protocolError, 'window increment of 0');
      else if (connection.sender.windowBytes + increment > windowBytesMax) {
        connection.fail(errorCode.flowControlError, 'connection window above 2^31-1');
      } else connection.sender.windowBytes += increment;
      return;
    }
    const stream = connection.receiver.streams.get(streamId);
    if (stream === undefined) {
      if (connection.receiver.isIdle(streamId))
        connection.fail(errorCode.protocolError, 'WINDOW_UPDATE on an idle stream');
    } else if (increment === 0) connection.receiver.reject(stream, errorCode.protocolError);
    else if (stream.sendWindow + increment > windowBytesMax)
      connection.receiver.reject(stream, errorCode.flowControlError);
    else {
      stream.sendWindow += increment;
      connection.sender.makeReady(stream);
    }
  }

  #onReset(streamId: number, bytes: Buffer, start: number, end: number): void {
    const connection = this.#connection;
    if (end - start !== 4) {
      connection.fail(errorCode.frameSizeError, 'RST_STREAM of wrong size');
      return;
    }
    if (streamId === 0 || connection.receiver.isIdle(streamId)) {
      connection.fail(errorCode.protocolError, 'RST_STREAM on an idle stream');
      return;
    }
    const stream = connection.receiver.streams.get(streamId);
    if (stream === undefined) {
      connection.countFrame();
      return;
    }
    const isPremature = connection.nowMs - stream.bornMs < prematureMs;
    connection.receiver.closed.addReset(streamId, true);
    connection.close(stream, `the client reset the stream with code ${readUint32BigEndian(bytes, start)}`);
    if (isPremature) connection.countReset();
  }

  #onPing(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const connection = this.#connection;
    if (streamId !== 0) {
      connection.fail(errorCode.protocolError, 'PING on a stream');
      return;
    }
    if (end - start !== 8) {
      connection.fail(errorCode.frameSizeError, 'PING of wrong size');
      return;
    }
    if (!connection.countFrame()) return;
    if ((flags & frameFlag.ack) !== 0) {
      connection.onPingAnswered(bytes, start, end);
      return;
    }
    if (!connection.times.mayPing()) {
      connection.fail(errorCode.enhanceYourCalm, 'too_many_pings');
      return;
    }
    sendPing(connection.sender.output, true, bytes, start);
  }

  #onSettings(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const connection = this.#connection;
    if (streamId !== 0) {
      connection.fail(errorCode.protocolError, 'SETTINGS on a stream');
      return;
    }
    if ((flags & frameFlag.ack) !== 0) {
      if (end > start) connection.fail(errorCode.frameSizeError, 'SETTINGS acknowledgement with content');
      else connection.countFrame();
      return;
    }
    if (!connection.countFrame()) return;
    const settings = connection.sender.peerSettings;
    const windowBefore = settings.windowBytes;
    const problem = settings.apply(bytes, start, end);
    if (problem !== errorCode.noError) {
      connection.fail(problem, 'bad SETTINGS');
      return;
    }
    connection.isEstablished = true;
    connection.sender.limitHeaderTable();
    const change = settings.windowBytes - windowBefore;
    if (change !== 0) {
      for (const stream of connection.receiver.streams.values()) {
        stream.sendWindow += change;
        if (stream.sendWindow > windowBytesMax) {
          connection.fail(errorCode.flowControlError, 'window above 2^31-1');
          return;
        }
        connection.sender.makeReady(stream);
      }
    }
    sendSettingsAck(connection.sender.output);
  }

  #onPriority(streamId: number, bytes: Buffer, start: number, end: number): void {
    const connection = this.#connection;
    if (streamId === 0) {
      connection.fail(errorCode.protocolError, 'PRIORITY on stream 0');
      return;
    }
    if (!connection.countFrame()) return;
    const isSelfDependent = end - start === 5 && (readUint32BigEndian(bytes, start) & 0x7fffffff) === streamId;
    if (end - start === 5 && !isSelfDependent) return;
    const code = isSelfDependent ? errorCode.protocolError : errorCode.frameSizeError;
    const stream = connection.receiver.streams.get(streamId);
    if (stream !== undefined) connection.receiver.reject(stream, code);
    else connection.rejectStream(streamId, code);
  }

  #onGoaway(streamId: number, start: number, end: number): void {
    const connection = this.#connection;
    if (streamId !== 0) connection.fail(errorCode.protocolError, 'GOAWAY on a stream');
    else if (end - start < 8) connection.fail(errorCode.frameSizeError, 'GOAWAY of wrong size');
    else connection.countFrame();
  }
}
