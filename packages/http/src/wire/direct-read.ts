/**
 * Reads of a socket by its handle, without the stream above it, which keeps a timer and looks up its callbacks for each. What is
 * not bytes (the end, an error) goes to the stream as usual. Node has no public name for the handle: where one of the parts
 * used here is missing, sockets are read by the callback of their user buffer (`shared-input.ts`).
 */
import type { Socket } from 'node:net';
import { nodeBinding } from './direct-write.ts';

/** Gets the reads of a socket. Returns the memory for the next one; undefined: the same. */
export interface DirectReader {
  readonly socket: Socket;
  onDirectRead(count: number): Uint8Array | undefined;
}

/** Called by Node with the handle as `this`. */
type OnRead = (this: ReadHandle, bytes?: ArrayBuffer) => Uint8Array | undefined;

const readerOf = Symbol('direct reader');

interface ReadHandle {
  onread?: OnRead;
  [readerOf]?: DirectReader;
}

/**
 * Ends and errors of sockets that one turn of the event loop passes on: each closes a connection, and a flood of them comes at once. The
 * others have the next turns, and the end of the first; nobody waits for them.
 */
export const endsPerTurn = 64;

interface WaitingEnd {
  readonly handle: ReadHandle;
  readonly reader: DirectReader;
  readonly count: number;
}

interface StreamBinding {
  readonly streamBaseState?: Int32Array;
  readonly kReadBytesOrError?: number;
}

class DirectReads {
  readonly #state: Int32Array;
  readonly #countAt: number;
  /** What Node calls for all sockets. */
  #usual: OnRead | undefined = undefined;
  readonly #onRead: OnRead;
  #endsOfTurn = 0;
  #waitingEnds: WaitingEnd[] = [];
  readonly #beginTurn = (): void => this.#passEnds();

  constructor(state: Int32Array, countAt: number) {
    this.#state = state;
    this.#countAt = countAt;
    const reads = this;
    this.#onRead = function onRead(bytes) {
      return reads.#read(this, bytes);
    };
  }

  /** False: the socket cannot be read this way. It must have a user buffer. */
  attach(socket: Socket, reader: DirectReader): boolean {
    const handle = (socket as unknown as { readonly _handle?: ReadHandle | null })._handle;
    if (typeof handle?.onread !== 'function') return false;
    this.#usual ??= handle.onread;
    if (handle.onread !== this.#usual) return false;
    handle[readerOf] = reader;
    handle.onread = this.#onRead;
    return true;
  }

  #read(handle: ReadHandle, bytes: ArrayBuffer | undefined): Uint8Array | undefined {
    const count = this.#state[this.#countAt] as number;
    const reader = handle[readerOf];
    if (reader === undefined || reader.socket.destroyed || count === 0) return this.#usual?.call(handle, bytes);
    if (count > 0) return reader.onDirectRead(count);
    if (this.#endsOfTurn === 0) setImmediate(this.#beginTurn);
    if (this.#endsOfTurn < endsPerTurn) {
      this.#endsOfTurn++;
      return this.#usual?.call(handle, bytes);
    }
    this.#waitingEnds.push({ handle, reader, count });
    return undefined;
  }

  #passEnds(): void {
    const ends = this.#waitingEnds.splice(0, endsPerTurn);
    this.#endsOfTurn = ends.length;
    if (ends.length > 0) setImmediate(this.#beginTurn);
    for (const { handle, reader, count } of ends) {
      if (reader.socket.destroyed) continue;
      this.#state[this.#countAt] = count;
      this.#usual?.call(handle);
    }
  }
}

/** Undefined where this version of Node has it elsewhere, or does not allow it. */
export function takeDirectReads(bindingOf = nodeBinding): DirectReads | undefined {
  let binding: StreamBinding | undefined;
  try {
    binding = bindingOf('stream_wrap') as StreamBinding | undefined;
  } catch {
    return undefined;
  }
  const { streamBaseState, kReadBytesOrError } = binding ?? {};
  if (!(streamBaseState instanceof Int32Array) || typeof kReadBytesOrError !== 'number') return undefined;
  return kReadBytesOrError < streamBaseState.length ? new DirectReads(streamBaseState, kReadBytesOrError) : undefined;
}
