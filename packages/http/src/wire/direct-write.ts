/**
 * Writes to a socket by its handle, without the stream above it. A stream makes an object for each write, keeps state and
 * schedules a tick; a small answer that the kernel takes at once needs none of it (ADR 0103). Node has no public name for the
 * handle: where one of the parts used here is missing, `takeDirectWrites` gives nothing and sockets are written as usual.
 */
import type { Socket } from 'node:net';

/** Node's `WriteWrap`: becomes part of a write that the kernel did not take at once, and is free again otherwise. */
interface WriteRequest {
  /** Keeps the bytes alive until the kernel has them. */
  buffer?: Uint8Array;
  oncomplete?: (status: number) => void;
}

interface SocketHandle {
  /** Zero, or the number of an error. */
  writeBuffer?(request: WriteRequest, bytes: Uint8Array): number;
  readonly writeQueueSize?: number;
}

interface SocketInside {
  readonly _handle?: SocketHandle | null;
}

interface StreamBinding {
  readonly WriteWrap?: new () => WriteRequest;
  readonly streamBaseState?: Int32Array;
  readonly kLastWriteWasAsync?: number;
}

/** Told of a write that was pending: the kernel has all of it, or the socket failed. */
export interface DirectWriter {
  onDirectWritten(isFailed: boolean): void;
}

/** The kernel has all of it; some is left, and the writer is told later; nothing was written, and the stream has to; the socket failed. */
export type DirectOutcome = 'taken' | 'pending' | 'refused' | 'failed';

class DirectWrites {
  readonly #Request: new () => WriteRequest;
  readonly #state: Int32Array;
  readonly #asyncAt: number;
  /** One for all sockets: a write that is done when the call returns leaves it as it was. */
  #spare: WriteRequest;

  constructor(Request: new () => WriteRequest, state: Int32Array, asyncAt: number) {
    this.#Request = Request;
    this.#state = state;
    this.#asyncAt = asyncAt;
    this.#spare = new Request();
  }

  /** Only for a socket whose stream has nothing to write: what it has would come later. */
  write(socket: Socket, bytes: Uint8Array, writer: DirectWriter): DirectOutcome {
    const handle = (socket as unknown as SocketInside)._handle;
    if (typeof handle?.writeBuffer !== 'function') return 'refused';
    const request = this.#spare;
    const error = handle.writeBuffer(request, bytes);
    if (error !== 0) return 'failed';
    if (this.#state[this.#asyncAt] === 0) return 'taken';
    this.#spare = new this.#Request();
    request.buffer = bytes;
    request.oncomplete = (status) => writer.onDirectWritten(status < 0);
    return 'pending';
  }
}

/** Bytes that the kernel has not taken of everything that was handed to the handle; undefined where that is not known. */
export function queuedBytesOf(socket: Socket): number | undefined {
  return (socket as unknown as SocketInside)._handle?.writeQueueSize;
}

/** Undefined where this version of Node has it elsewhere, or does not allow it. */
export function takeDirectWrites(bindingOf = nodeBinding): DirectWrites | undefined {
  let binding: StreamBinding | undefined;
  try {
    binding = bindingOf('stream_wrap') as StreamBinding | undefined;
  } catch {
    return undefined;
  }
  const { WriteWrap, streamBaseState, kLastWriteWasAsync } = binding ?? {};
  if (typeof WriteWrap !== 'function' || typeof kLastWriteWasAsync !== 'number') return undefined;
  if (!(streamBaseState instanceof Int32Array) || kLastWriteWasAsync >= streamBaseState.length) return undefined;
  return new DirectWrites(WriteWrap, streamBaseState, kLastWriteWasAsync);
}

/** Node's own module of this name, as far as Node allows. */
export function nodeBinding(name: string): unknown {
  return (process as unknown as { binding?(name: string): unknown }).binding?.(name);
}
