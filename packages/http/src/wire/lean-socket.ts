/**
 * A plain socket between two processes of one server, read and written without most of what a stream adds: reads go into shared memory and
 * are copied from there, and a write that the kernel takes at once makes no objects. Where a version of Node does not allow one of the two, it is
 * done by the stream.
 */
import type { Socket } from 'node:net';
import { keptCopyOf } from './byte-gatherer.ts';
import { type DirectWriter, takeDirectWrites } from './direct-write.ts';
import { SharedInput } from './shared-input.ts';

const directWrites = takeDirectWrites();
/** What is read is copied before the next read, so that all sockets share it. */
const sharedInput = new SharedInput({ isPoisoned: false });

export class LeanSocket implements DirectWriter {
  readonly #socket: Socket;
  /** Of a write without the stream that the kernel has not taken as a whole. */
  #isPending: boolean = false;

  /** `onData` may keep what it gets. Other events are those of the socket. */
  constructor(socket: Socket, onData: (bytes: Uint8Array) => void) {
    this.#socket = socket;
    const isShared = sharedInput.attach(socket, (count, bytes) => onData(keptCopyOf(bytes.subarray(0, count))));
    if (isShared) socket.resume();
    else socket.on('data', onData);
  }

  /** True when the kernel took all bytes at once, so that the memory may be reused. */
  write(bytes: Uint8Array): boolean {
    const socket = this.#socket;
    if (socket.destroyed) return false;
    if (directWrites !== undefined && !this.#isPending && socket.writableLength === 0 && bytes.length > 0) {
      const outcome = directWrites.write(socket, bytes, this);
      if (outcome === 'taken') return true;
      if (outcome === 'pending') this.#isPending = true;
      if (outcome === 'failed') socket.destroy();
      if (outcome !== 'refused') return false;
    }
    socket.write(bytes);
    return !this.#isPending && socket.writableLength === 0;
  }

  onDirectWritten(isFailed: boolean): void {
    this.#isPending = false;
    if (isFailed) this.#socket.destroy();
  }
}
