import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Peer } from '../exchange.ts';
import type { ReadTarget } from './body-pool.ts';
import { type InputTransport, SharedInput } from './shared-input.ts';
import type { Connection, Transport } from './transport.ts';

const wired = Symbol('wired');

interface WiredSocket extends Socket {
  [wired]?: SocketTransport;
}

/**
 * The handle, which a socket does not expose. Where a version of Node keeps it elsewhere, only whole writes are seen.
 */
interface SocketInside {
  readonly _handle?: { readonly writeQueueSize?: number } | null;
  readonly _writableState?: { readonly writelen?: number };
}

/** A socket as a connection sees it. Its listeners are shared functions, so that an idle connection has no closures. */
export class SocketTransport implements Transport, InputTransport {
  readonly socket: Socket;
  readonly #peer: { -readonly [Name in keyof Peer]: Peer[Name] };
  connection: Connection;
  readonly #onGone: (transport: SocketTransport) => void;
  readonly input: SharedInput | undefined;
  target: ReadTarget | undefined = undefined;

  constructor(
    socket: Socket,
    { owner, isTrustedProxy }: Pick<Peer, 'owner' | 'isTrustedProxy'>,
    connectionFor: (transport: SocketTransport) => Connection,
    onGone: (transport: SocketTransport) => void,
    input?: SharedInput,
  ) {
    this.socket = socket;
    this.#peer = {
      address: socket.remoteAddress ?? '',
      port: socket.remotePort ?? 0,
      isEncrypted: socket instanceof TLSSocket,
      owner,
      isTrustedProxy,
    };
    if (socket instanceof TLSSocket && socket.authorized) {
      const certificate = socket.getPeerX509Certificate();
      if (certificate !== undefined) this.#peer.certificate = certificate.raw;
    }
    this.#onGone = onGone;
    this.input = input;
    this.connection = connectionFor(this);
    (socket as WiredSocket)[wired] = this;
    socket.on('close', onClose);
    // What is decrypted comes in memory of its own.
    const isShared = !this.#peer.isEncrypted && input?.attach(socket, onRead) === true;
    if (!isShared) socket.on('data', onData);
    socket.on('end', onEnd);
    socket.on('drain', onDrain);
    socket.on('error', onError);
    socket.resume();
  }

  get peer(): Peer {
    return this.#peer;
  }

  get pendingBytes(): number {
    return this.socket.writableLength;
  }

  get takenBytes(): number {
    const { socket } = this;
    const done = socket.bytesWritten - socket.writableLength;
    // Node reports a write when all of it is done. How much is left of the current one only the handle knows, as for
    // the socket's own timeouts.
    const { _handle: handle, _writableState: state } = socket as unknown as SocketInside;
    const underWay = state?.writelen ?? 0;
    return done + Math.max(0, underWay - (handle?.writeQueueSize ?? underWay));
  }

  write(pieces: readonly Uint8Array[], onTaken: (() => void) | undefined): void {
    const socket = this.socket;
    if (!socket.writable) {
      onTaken?.();
      return;
    }
    const last = pieces.length - 1;
    if (last === 0) {
      socket.write(pieces[0] as Uint8Array, onTaken);
      return;
    }
    socket.cork();
    for (let at = 0; at < last; at++) socket.write(pieces[at] as Uint8Array);
    socket.write(pieces[last] as Uint8Array, onTaken);
    socket.uncork();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  onClosed(): void {
    SharedInput.detach(this);
    this.connection.onClosed();
    this.#onGone(this);
  }
}

function onData(this: WiredSocket, bytes: Buffer): void {
  this[wired]?.connection.receive(bytes);
}

function onRead(this: WiredSocket, count: number): void {
  const transport = this[wired];
  transport?.input?.pass(transport, count);
}

function onEnd(this: WiredSocket): void {
  this[wired]?.connection.receiveEnd();
}

function onDrain(this: WiredSocket): void {
  this[wired]?.connection.onWritable();
}

function onError(this: WiredSocket): void {
  // The `close` that follows says all there is to do.
}

function onClose(this: WiredSocket): void {
  this[wired]?.onClosed();
}
