/**
 * Reads all sockets into the same memory. Node makes a new ArrayBuffer for each read, and V8 collects garbage for those of
 * large bodies every few dozen requests; a read that goes into memory of the program's own makes none.
 */
import type { Socket } from 'node:net';
import { type BodyPool, type FramedSocketReads, poisonByte, type ReadTarget } from './body-pool.ts';
import { keptCopyOf } from './byte-gatherer.ts';
import type { Connection } from './transport.ts';

/** The most that is read at once, unless there is a target for it. */
const inputBytes = 64 * 1024;
/** Up to this size what was read is copied, and the connection may keep views of it: that is cheaper for small requests. */
const copiedBytesMax = 4 * 1024;

/** Heads of frames that are read at once: far more than there are in a read of frames. */
const headsBytes = 1024;
/** Reads of frames in a row, before others get their turn. */
const framedReadsMax = 4;

/** What `onread` sets on a socket that a program connects; a server's sockets have it only inside. */
interface UserBuffer {
  readonly buffer: symbol;
  readonly callback: symbol;
  /** Called after the callback for the buffer of the next read. */
  readonly next: symbol;
}

/** A socket that is read this way, as far as this file knows it. */
export interface InputTransport {
  readonly connection: Connection;
  /** Where the next read of the socket goes instead of the shared memory; held until then. */
  target: ReadTarget | undefined;
  /** Of the socket; undefined: it is closed, or not known. */
  readonly descriptor: number | undefined;
}

interface SocketInside {
  readonly _handle?: { useUserBuffer?(buffer: Uint8Array): void } | null;
  [inside: symbol]: unknown;
}

/** Undefined where this version of Node keeps them elsewhere: then sockets are read as usual. */
function takeUserBuffer(socket: Socket): UserBuffer | undefined {
  const symbols = Object.getOwnPropertySymbols(socket);
  const find = (name: string): symbol | undefined => symbols.find(({ description }) => description === name);
  const [buffer, callback, next] = [find('kBuffer'), find('kBufferCb'), find('kBufferGen')];
  return buffer === undefined || callback === undefined || next === undefined ? undefined : { buffer, callback, next };
}

export class SharedInput {
  /** A read ends before the next begins, whatever their sockets, so that one buffer is enough. */
  readonly #bytes: Buffer = Buffer.allocUnsafeSlow(inputBytes);
  /** The buffer of the next read of the socket that was read last; undefined: as before. */
  #next: Buffer | undefined = undefined;
  readonly #takeNext = (): Buffer | undefined => {
    const next = this.#next;
    this.#next = undefined;
    return next;
  };
  #userBuffer: UserBuffer | undefined = undefined;
  readonly #isPoisoned: boolean;
  readonly #framedReads: FramedSocketReads | undefined;
  readonly #heads: Buffer = Buffer.allocUnsafeSlow(headsBytes);

  constructor({ isPoisoned, framedReads }: Pick<BodyPool, 'isPoisoned'> & Partial<Pick<BodyPool, 'framedReads'>>) {
    this.#isPoisoned = isPoisoned;
    this.#framedReads = framedReads;
  }

  /** From now on reads of the socket call `onRead`, which has to `pass` them on. False: it cannot be read this way. */
  attach(socket: Socket, onRead: (this: Socket, count: number, bytes: Buffer) => void): boolean {
    this.#userBuffer ??= takeUserBuffer(socket);
    const inside = socket as unknown as SocketInside;
    const handle = inside._handle;
    if (this.#userBuffer === undefined || typeof handle?.useUserBuffer !== 'function') return false;
    const { buffer, callback, next } = this.#userBuffer;
    inside[buffer] = this.#bytes;
    inside[callback] = onRead;
    inside[next] = this.#takeNext;
    handle.useUserBuffer(this.#bytes);
    return true;
  }

  /** To be called for every read; the next one of the socket goes where its connection wants it. */
  pass(transport: InputTransport, count: number): void {
    const { connection, target } = transport;
    if (target === undefined) this.#passShared(connection, count);
    else connection.receiveInto?.(target, count);
    const next = this.#readFrames(transport, transport.connection.readTarget?.());
    if (target === undefined && next === undefined) return;
    next?.lent.hold();
    transport.target = next;
    target?.lent.release();
    this.#next = next === undefined ? this.#bytes : bytesOfNextRead(next);
  }

  /** Reads on at once where frames are expected; returns where the next read of the socket goes. */
  #readFrames(transport: InputTransport, first: ReadTarget | undefined): ReadTarget | undefined {
    const framedReads = this.#framedReads;
    let target = first;
    for (let reads = 0; reads < framedReadsMax; reads++) {
      if (target?.frames === undefined || framedReads === undefined) return target;
      // Node asks the handle for it each time.
      const { descriptor } = transport;
      if (descriptor === undefined) return target;
      const { bytes, lent, frames } = target;
      const { firstBytes, nextBytes, headBytes } = frames;
      // Whatever the connection does with these bytes, their memory is not freed before it has.
      lent.hold();
      const count = framedReads.read(descriptor, bytes, firstBytes, nextBytes, this.#heads, headBytes);
      if (count > 0) transport.connection.receiveFrames?.(target, this.#heads, count);
      if (count > 0) target = transport.connection.readTarget?.();
      lent.release();
      // The kernel had no more.
      if (count < bytes.length) return target;
    }
    return target;
  }

  /** As `pass`, for a read that its stream does not know of. Returns the memory of the next one if that is another. */
  passDirectly(socket: Socket, transport: InputTransport, count: number): Buffer | undefined {
    this.pass(transport, count);
    const next = this.#takeNext();
    // The handle has only its address.
    if (next !== undefined && this.#userBuffer !== undefined)
      (socket as unknown as SocketInside)[this.#userBuffer.buffer] = next;
    return next;
  }

  /** A copy of what was read, for later; only of a read without a target. */
  takeAside(count: number): Buffer {
    const bytes = this.#bytes.subarray(0, count);
    const copy = keptCopyOf(bytes);
    if (this.#isPoisoned) bytes.fill(poisonByte);
    return copy;
  }

  /** As `pass`, for what was taken aside. To be called between two reads. */
  passAside(socket: Socket, transport: InputTransport, bytes: Buffer): void {
    transport.connection.receive(bytes);
    this.#aim(socket, transport);
  }

  /** The memory that the next read would go to is needed elsewhere. To be called between two reads. */
  retarget(socket: Socket, transport: InputTransport): void {
    if (transport.target !== undefined) this.#aim(socket, transport);
  }

  /** Has the next read of the socket go where its connection wants it. */
  #aim(socket: Socket, transport: InputTransport): void {
    const { connection, target } = transport;
    const inside = socket as unknown as SocketInside;
    const handle = inside._handle;
    // A socket without a handle is closed, which releases its target.
    if (this.#userBuffer === undefined || typeof handle?.useUserBuffer !== 'function') return;
    const next = connection.readTarget?.();
    if (target === undefined && next === undefined) return;
    const bytes = next === undefined ? this.#bytes : bytesOfNextRead(next);
    next?.lent.hold();
    transport.target = next;
    inside[this.#userBuffer.buffer] = bytes;
    handle.useUserBuffer(bytes);
    target?.lent.release();
  }

  /** The socket is closed, and nothing is read any more. */
  static detach(transport: InputTransport): void {
    const { target } = transport;
    transport.target = undefined;
    target?.lent.release();
  }

  #passShared(connection: Connection, count: number): void {
    if (count <= copiedBytesMax && connection.receiveShared?.(this.#bytes, count) === true) {
      if (this.#isPoisoned) this.#bytes.fill(poisonByte, 0, count);
      return;
    }
    const bytes = this.#bytes.subarray(0, count);
    if (count <= copiedBytesMax || connection.receiveLent === undefined) connection.receive(keptCopyOf(bytes));
    else connection.receiveLent(bytes);
    if (this.#isPoisoned) bytes.fill(poisonByte);
  }
}

/** Node reads into one piece of memory: of frames, into the first. */
function bytesOfNextRead({ bytes, frames }: ReadTarget): Buffer {
  return frames === undefined ? bytes : bytes.subarray(0, frames.firstBytes);
}
