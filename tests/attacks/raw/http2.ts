/** HTTP/2 for attackers: sends any frames, reads answers for their names, and opens windows only on request. */
import type { Socket } from 'node:net';
import { frameFlag, frameType, type HeaderField, HpackDecoder } from '@millrace/http2';
import { data, type Fields, frame, headers, hello, settings, windowUpdate } from '@millrace/http2/testing';
import { sent, type Target } from '../target.ts';

const listBytesMax = 1_000_000;
const windowBytesMax = 2 ** 31 - 1;
const settingInitialWindow = 4;

export interface Http2Options {
  /** Opens its windows at once, so that the server may send all it has. */
  readonly isOpenWide?: boolean;
  /** Does not read what the server sends. */
  readonly isDeaf?: boolean;
  /** Bytes of each stream's window at first. */
  readonly windowBytes?: number;
}

export class Http2Attacker {
  readonly socket: Socket;
  readonly #target: Target;
  readonly #decoder = new HpackDecoder();
  /** What each stream has sent, less what its window was opened by. */
  readonly #spent = new Map<number, number>();
  readonly #finished = new Map<number, (answer: StreamAnswer) => void>();
  readonly #over = new Set<number>();
  readonly #statuses = new Map<number, number>();
  #held: Buffer = Buffer.alloc(0);
  #nextId = 1;
  connectionWindow = 65_535;
  streamWindow = 65_535;
  receivedBytes = 0;

  private constructor(target: Target, socket: Socket, options: Http2Options) {
    this.#target = target;
    this.socket = socket;
    const first = options.windowBytes ?? (options.isOpenWide === true ? windowBytesMax : undefined);
    socket.write(hello);
    if (first !== undefined) socket.write(settings([settingInitialWindow, first]));
    if (options.isOpenWide === true) socket.write(windowUpdate(0, windowBytesMax - 65_535));
    if (options.isDeaf === true) socket.pause();
    else socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.once('close', () => {
      for (const end of this.#finished.values()) end({ isReset: true, status: 0, name: 'closed' });
      this.#finished.clear();
    });
  }

  static async open(
    target: Target,
    port: number = target.location.ports.grpc,
    options: Http2Options = {},
  ): Promise<Http2Attacker | undefined> {
    const socket = await target.dial(port);
    return socket === undefined ? undefined : new Http2Attacker(target, socket, options);
  }

  get isClosed(): boolean {
    return this.socket.destroyed || !this.socket.writable;
  }

  nextStreamId(): number {
    const id = this.#nextId;
    this.#nextId += 2;
    return id;
  }

  /** Opens a stream; its body follows by `body`. */
  open(fields: Fields, isEndStream = false): number {
    const id = this.nextStreamId();
    if (!this.isClosed) this.socket.write(headers(id, fields, isEndStream));
    return id;
  }

  /** Sends as far as the server's windows let it; false once the connection is closed. */
  async body(id: number, bytes: Uint8Array, isEndStream: boolean, frameBytesMax = 16_384): Promise<boolean> {
    for (let at = 0; at < bytes.length || at === 0; ) {
      const room = Math.min(this.connectionWindow, this.#roomOf(id), frameBytesMax);
      if (room <= 0 && bytes.length > 0) {
        if (this.#target.isOver || this.isClosed || this.#over.has(id)) return false;
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      const part = bytes.subarray(at, at + room);
      at += part.length;
      this.connectionWindow -= part.length;
      this.#spend(id, part.length);
      if (!(await sent(this.socket, data(id, part, isEndStream && at >= bytes.length)))) return false;
      if (bytes.length === 0) return true;
    }
    return true;
  }

  /** Waits until the windows have room for so much, and takes it; false when they never will. */
  async hasRoom(id: number, bytes: number): Promise<boolean> {
    while (Math.min(this.connectionWindow, this.#roomOf(id)) < bytes) {
      if (this.#target.isOver || this.isClosed || this.#over.has(id)) return false;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.connectionWindow -= bytes;
    this.#spend(id, bytes);
    return true;
  }

  #roomOf(id: number): number {
    return this.streamWindow - (this.#spent.get(id) ?? 0);
  }

  #spend(id: number, bytes: number): void {
    this.#spent.set(id, (this.#spent.get(id) ?? 0) + bytes);
  }

  isOver(id: number): boolean {
    return this.#over.has(id);
  }

  finished(id: number): Promise<StreamAnswer> {
    if (this.isClosed) return Promise.resolve({ isReset: true, status: 0, name: 'closed' });
    return new Promise((resolve) => this.#finished.set(id, resolve));
  }

  #finish(id: number, answer: StreamAnswer): void {
    if (this.#over.has(id)) return;
    this.#over.add(id);
    this.#spent.delete(id);
    if (answer.name !== '') this.#target.fate.refused(answer.name);
    else this.#target.fate.answered++;
    this.#finished.get(id)?.(answer);
    this.#finished.delete(id);
  }

  #read(arrived: Buffer): void {
    this.receivedBytes += arrived.length;
    const bytes = this.#held.length === 0 ? arrived : Buffer.concat([this.#held, arrived]);
    let at = 0;
    while (bytes.length - at >= 9) {
      const length = bytes.readUIntBE(at, 3);
      if (bytes.length - at - 9 < length) break;
      const payload = bytes.subarray(at + 9, at + 9 + length);
      this.#take(bytes[at + 3] as number, bytes[at + 4] as number, bytes.readUInt32BE(at + 5), payload);
      at += 9 + length;
    }
    this.#held = Buffer.from(bytes.subarray(at));
  }

  #take(type: number, flags: number, id: number, payload: Buffer): void {
    const isEnd = (flags & frameFlag.endStream) !== 0;
    switch (type) {
      case frameType.headers: {
        const fields: HeaderField[] = [];
        this.#decoder.decode(payload, 0, payload.length, fields, listBytesMax);
        const fieldOf = (name: string) => fields.find((field) => field.name === name)?.value;
        const status = Number(fieldOf(':status') ?? this.#statuses.get(id) ?? 0);
        this.#statuses.set(id, status);
        if (isEnd || status >= 400) {
          this.#statuses.delete(id);
          this.#finish(id, { isReset: false, status, name: nameOf(status, fieldOf) });
        }
        return;
      }
      case frameType.data:
        if (isEnd) this.#finish(id, { isReset: false, status: this.#statuses.get(id) ?? 200, name: '' });
        return;
      case frameType.rstStream:
        this.#finish(id, { isReset: true, status: 0, name: `RST_STREAM ${payload.readUInt32BE(0)}` });
        return;
      case frameType.goaway:
        this.#target.fate.refused(`GOAWAY ${payload.toString('latin1', 8) || payload.readUInt32BE(4)}`);
        return;
      case frameType.windowUpdate:
        if (id === 0) this.connectionWindow += payload.readUInt32BE(0);
        else this.#spend(id, -payload.readUInt32BE(0));
        return;
      case frameType.settings:
        if ((flags & frameFlag.ack) !== 0) return;
        for (let at = 0; at + 6 <= payload.length; at += 6) {
          if (payload.readUInt16BE(at) === settingInitialWindow) this.streamWindow = payload.readUInt32BE(at + 2);
        }
        this.socket.write(frame(frameType.settings, frameFlag.ack, 0));
        return;
      case frameType.ping:
        if ((flags & frameFlag.ack) === 0) this.socket.write(frame(frameType.ping, frameFlag.ack, 0, payload));
    }
  }
}

export interface StreamAnswer {
  readonly isReset: boolean;
  readonly status: number;
  /** Why it was refused; empty where it was answered. */
  readonly name: string;
}

function nameOf(status: number, fieldOf: (name: string) => string | undefined): string {
  const code = fieldOf('millrace-error-code');
  if (code !== undefined) return code;
  const grpcStatus = fieldOf('grpc-status');
  if (grpcStatus !== undefined && grpcStatus !== '0') return `grpc-status ${grpcStatus}`;
  return status >= 400 ? String(status) : '';
}

export function grpcFields(target: Target, method: string, more: Fields = []): Fields {
  return [
    [':method', 'POST'],
    [':scheme', target.location.isTls ? 'https' : 'http'],
    [':path', method],
    [':authority', `${target.host}:${target.location.ports.grpc}`],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...more,
  ];
}

export function restFields(target: Target, method: string, path: string, more: Fields = []): Fields {
  return [
    [':method', method],
    [':scheme', target.location.isTls ? 'https' : 'http'],
    [':path', path],
    [':authority', `${target.host}:${target.location.ports.http}`],
    ...more,
  ];
}
