/**
 * A minimal HTTP/2 client connection: requests are prepared as bytes, frames are split without a parser library, header
 * blocks are not decoded. Windows are opened wide, so that only the server's work is measured.
 */
import { connect, type Socket } from 'node:net';
import { clientPreface, frameFlag, frameType, writeFrameHeader } from '@millrace/http2';
import { frame, literalBlock } from '@millrace/http2/testing';

export interface FrameListener {
  /** The payload of a DATA frame: so many bytes of `frame` from `at` on, valid during the call. */
  onData(streamId: number, bytes: number, frame: Buffer, at: number): void;
  /** The stream ended, well or not. */
  onEnd(streamId: number, isReset: boolean): void;
}

const settingInitialWindow = 4;
/** What every server takes. A body must fit into the server's windows, which are not watched here. */
const frameBytesMax = 16_384;
const windowBytesMax = 2 ** 31 - 1;
/** How much is received before the connection's window is topped up. */
const windowStepBytes = 2 ** 26;

export class FrameConnection {
  readonly socket: Socket;
  readonly #listener: FrameListener;
  readonly #head: Buffer;
  readonly #body: Buffer;
  /** The frames of the last whole call, written again with another stream id: making them costs more than sending them. */
  #prepared: Buffer | undefined = undefined;
  #held: Buffer = Buffer.alloc(0);
  #nextStreamId = 1;
  #receivedBytes = 0;

  /** Every request is the same: this gRPC call. */
  constructor(port: number, path: string, body: Uint8Array, listener: FrameListener) {
    this.#listener = listener;
    this.#head = literalBlock([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', path],
      [':authority', `127.0.0.1:${port}`],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    ]);
    this.#body = Buffer.from(body);
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(settingInitialWindow, 0);
    settings.writeUInt32BE(windowBytesMax, 2);
    this.socket.write(
      Buffer.concat([clientPreface, frame(frameType.settings, 0, 0, settings), windowUpdate(windowBytesMax - 65_535)]),
    );
    this.socket.on('data', (bytes) => this.#read(bytes));
  }

  /** Sends the call once more and gives its stream; `staysOpen`: more messages follow by `send`. */
  call(staysOpen = false): number {
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    // What is being written must not change.
    const prepared = staysOpen || this.socket.writableLength > 0 ? undefined : this.#prepared;
    const bytes = prepared ?? this.#framesOf(id, staysOpen);
    if (prepared !== undefined) this.#renumber(prepared, id);
    else if (!staysOpen) this.#prepared = bytes;
    this.socket.write(bytes);
    return id;
  }

  #framesOf(id: number, staysOpen: boolean): Buffer {
    const frames = Math.max(1, Math.ceil(this.#body.length / frameBytesMax));
    const bytes = Buffer.allocUnsafe(9 + this.#head.length + 9 * frames + this.#body.length);
    writeFrameHeader(bytes, 0, this.#head.length, frameType.headers, frameFlag.endHeaders, id);
    bytes.set(this.#head, 9);
    let at = 9 + this.#head.length;
    for (let frame = 0; frame < frames; frame++) {
      const part = this.#body.subarray(frame * frameBytesMax, (frame + 1) * frameBytesMax);
      const isLast = frame === frames - 1 && !staysOpen;
      writeFrameHeader(bytes, at, part.length, frameType.data, isLast ? frameFlag.endStream : 0, id);
      bytes.set(part, at + 9);
      at += 9 + part.length;
    }
    return bytes;
  }

  #renumber(bytes: Buffer, id: number): void {
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) bytes.writeUInt32BE(id, at + 5);
  }

  /** Sends messages on an open stream. The caller keeps so few on the way that no window is ever full. */
  send(streamId: number, messages: Uint8Array, isEnd = false): void {
    this.socket.write(frame(frameType.data, isEnd ? frameFlag.endStream : 0, streamId, messages));
  }

  ping(): void {
    this.socket.write(frame(frameType.ping, 0, 0, Buffer.alloc(8)));
  }

  #read(arrived: Buffer): void {
    const bytes = this.#held.length === 0 ? arrived : Buffer.concat([this.#held, arrived]);
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at - 9 < length) break;
      this.#take(bytes[at + 3] as number, bytes[at + 4] as number, bytes.readUInt32BE(at + 5), bytes, at + 9, length);
      at += 9 + length;
    }
    this.#held = bytes.subarray(at);
  }

  #take(type: number, flags: number, streamId: number, bytes: Buffer, at: number, length: number): void {
    switch (type) {
      case frameType.data:
        this.#receivedBytes += length;
        if (this.#receivedBytes >= windowStepBytes) {
          this.socket.write(windowUpdate(this.#receivedBytes));
          this.#receivedBytes = 0;
        }
        this.#listener.onData(streamId, length, bytes, at);
        if ((flags & frameFlag.endStream) !== 0) this.#listener.onEnd(streamId, false);
        break;
      case frameType.headers:
        if ((flags & frameFlag.endStream) !== 0) this.#listener.onEnd(streamId, false);
        break;
      case frameType.rstStream:
        this.#listener.onEnd(streamId, true);
        break;
      case frameType.settings:
        if ((flags & frameFlag.ack) === 0) this.socket.write(frame(frameType.settings, frameFlag.ack, 0));
        break;
      case frameType.ping:
        if ((flags & frameFlag.ack) === 0)
          this.socket.write(frame(frameType.ping, frameFlag.ack, 0, bytes.subarray(at, at + length)));
        break;
      case frameType.goaway:
        throw new Error(`the server sent GOAWAY: ${bytes.toString('latin1', at + 8, at + length)}`);
    }
  }
}

function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment, 0);
  return frame(frameType.windowUpdate, 0, 0, payload);
}
