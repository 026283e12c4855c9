import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Peer } from '../exchange.ts';
import type { ReadTarget } from './body-pool.ts';
import { httpLimits } from './config.ts';
import { type DirectReader, takeDirectReads } from './direct-read.ts';
import { type DirectWriter, queuedBytesOf, takeDirectWrites } from './direct-write.ts';
import { inputTurns, type TurnInput } from './input-turns.ts';
import { type InputTransport, SharedInput } from './shared-input.ts';
import type { Connection, Transport } from './transport.ts';

const wired = Symbol('wired');

interface WiredSocket extends Socket {
  [wired]?: SocketTransport;
}

/** What a socket does not expose. Where a version of Node keeps it elsewhere, only whole writes are seen. */
interface SocketInside {
  readonly _handle?: { readonly fd?: number } | null;
  readonly _writableState?: { readonly writelen?: number };
}

/** Such a piece may fill the output, so that its writer waits for room. It is left to the stream, which costs little beside it. */
const fillingBytesMin = httpLimits.outputBytesMax.min;

const directWrites = takeDirectWrites();
const directReads = takeDirectReads();

/** A socket as a connection sees it. Its listeners are shared functions, so that an idle connection has no closures. */
export class SocketTransport implements Transport, InputTransport, TurnInput, DirectWriter, DirectReader {
  readonly socket: Socket;
  readonly #peer: { -readonly [Name in keyof Peer]: Peer[Name] };
  connection: Connection;
  readonly #onGone: (transport: SocketTransport) => void;
  readonly input: SharedInput | undefined;
  readonly #isShared: boolean;
  target: ReadTarget | undefined = undefined;
  /** By its connection. */
  #isPaused: boolean = false;
  /** Until the next turn of the event loop. */
  #isHeld: boolean = false;
  /** Read when the owner had used up the turn: passed on at the release. */
  #aside: Buffer | undefined = undefined;
  /** The end of the input was told while bytes before it were set aside. */
  #isEndAside: boolean = false;
  /** Of a write without the stream that the kernel has not taken as a whole. The socket counts it as written. */
  #directPendingBytes = 0;
  #onDirectTaken: (() => void) | undefined = undefined;
  /** Called back when all that was written before the end is sent, or never will be. */
  #onFinished: (() => void)[] | undefined = undefined;

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
    this.#isShared = !this.#peer.isEncrypted && input?.attach(socket, onRead) === true;
    if (this.#isShared) directReads?.attach(socket, this);
    else socket.on('data', onData);
    socket.on('end', onEnd);
    socket.on('drain', onDrain);
    socket.on('error', onError);
    socket.resume();
  }

  get owner(): string {
    return this.#peer.owner;
  }

  get descriptor(): number | undefined {
    const descriptor = (this.socket as unknown as SocketInside)._handle?.fd;
    return descriptor === undefined || descriptor < 0 ? undefined : descriptor;
  }

  get peer(): Peer {
    return this.#peer;
  }

  get pendingBytes(): number {
    return this.socket.writableLength + this.#directPendingBytes;
  }

  get takenBytes(): number {
    const { socket } = this;
    const done = socket.bytesWritten - socket.writableLength - this.#directPendingBytes;
    // Node reports a write when all of it is done. How much is left of the current one only the handle knows, as for
    // the socket's own timeouts.
    const underWay = ((socket as unknown as SocketInside)._writableState?.writelen ?? 0) + this.#directPendingBytes;
    return done + Math.max(0, underWay - (queuedBytesOf(socket) ?? underWay));
  }

  write(pieces: readonly Uint8Array[], onTaken: (() => void) | undefined): void {
    const socket = this.socket;
    if (!socket.writable) {
      if (onTaken !== undefined) this.#tellAfterEnd(onTaken);
      return;
    }
    if (pieces.length === 1 && this.#writeDirectly(pieces[0] as Uint8Array, onTaken)) return;
    const last = pieces.length - 1;
    if (last === 0) {
      const piece = pieces[0] as Uint8Array;
      // Node emits no `drain` after a write that the kernel took at once as a whole.
      if (socket.write(piece, onTaken) && piece.length >= fillingBytesMin) process.nextTick(() => this.#tellRoom());
      return;
    }
    socket.cork();
    for (let at = 0; at < last; at++) socket.write(pieces[at] as Uint8Array);
    socket.write(pieces[last] as Uint8Array, onTaken);
    socket.uncork();
  }

  /** Nothing can be written any more, but what was written before the end may still be on its way: the callback queues behind it. */
  #tellAfterEnd(onTaken: () => void): void {
    if (this.socket.destroyed || this.pendingBytes === 0) {
      onTaken();
      return;
    }
    if (this.#onFinished === undefined) {
      this.#onFinished = [];
      this.socket.once('finish', () => this.#tellFinished());
    }
    this.#onFinished.push(onTaken);
  }

  #tellFinished(): void {
    const onFinished = this.#onFinished;
    this.#onFinished = undefined;
    if (onFinished !== undefined) for (const onTaken of onFinished) onTaken();
  }

  /** False: nothing was written, and the stream has to. */
  #writeDirectly(bytes: Uint8Array, onTaken: (() => void) | undefined): boolean {
    const { socket } = this;
    if (directWrites === undefined || this.#peer.isEncrypted || bytes.length >= fillingBytesMin) return false;
    if (socket.writableLength > 0 || this.#directPendingBytes > 0 || bytes.length === 0) return false;
    const outcome = directWrites.write(socket, bytes, this);
    if (outcome === 'refused') return false;
    if (outcome === 'pending') {
      this.#directPendingBytes = bytes.length;
      this.#onDirectTaken = onTaken;
      return true;
    }
    if (outcome === 'failed') socket.destroy();
    // Not before this returns, as with a stream.
    if (onTaken !== undefined) process.nextTick(onTaken);
    return true;
  }

  onDirectWritten(isFailed: boolean): void {
    const onTaken = this.#onDirectTaken;
    this.#onDirectTaken = undefined;
    this.#directPendingBytes = 0;
    if (isFailed) this.socket.destroy();
    onTaken?.();
    this.#tellRoom();
  }

  #tellRoom(): void {
    if (!this.socket.destroyed) this.connection.onWritable();
  }

  get asideBytes(): number {
    return this.#aside?.length ?? 0;
  }

  /** Whether what was read into the shared memory waits for the release. What went to its target is cheap to pass on. */
  isSetAside(count: number): boolean {
    if (this.input === undefined || this.target !== undefined || !inputTurns.setAside(this, count)) return false;
    this.#aside = this.input.takeAside(count);
    return true;
  }

  /** Of a socket that is not read into the shared memory. */
  receive(bytes: Buffer): void {
    if (inputTurns.setAside(this, bytes.length)) {
      this.#aside = bytes;
      return;
    }
    inputTurns.begin(this);
    this.connection.receive(bytes);
    inputTurns.end(this);
  }

  #passAside(bytes: Buffer): void {
    inputTurns.begin(this);
    if (this.#isShared) this.input?.passAside(this.socket, this, bytes);
    else this.connection.receive(bytes);
    inputTurns.end(this);
    if (this.#isEndAside) this.connection.receiveEnd();
  }

  /** A stream without bytes of its own tells its end also while it is paused, as those of TLS do: it comes behind what was set aside. */
  receiveEnd(): void {
    if (this.#aside === undefined) this.connection.receiveEnd();
    else this.#isEndAside = true;
  }

  onDirectRead(count: number): Buffer | undefined {
    if (this.isSetAside(count)) return undefined;
    inputTurns.begin(this);
    const next = this.input?.passDirectly(this.socket, this, count);
    inputTurns.end(this);
    return next;
  }

  pause(): void {
    this.#isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#isHeld) return;
    if (this.#aside === undefined) {
      this.socket.resume();
      return;
    }
    // As a socket: what it has comes after this call.
    this.#isHeld = true;
    setImmediate(() => this.releaseInput());
  }

  holdInput(): void {
    this.#isHeld = true;
    this.socket.pause();
  }

  releaseInput(): void {
    this.#isHeld = false;
    if (this.#isPaused) return;
    const aside = this.#aside;
    this.#aside = undefined;
    if (aside !== undefined && !this.socket.destroyed) this.#passAside(aside);
    if (!this.#isPaused && !this.#isHeld) this.socket.resume();
  }

  retarget(): void {
    this.input?.retarget(this.socket, this);
  }

  end(): void {
    this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  onClosed(): void {
    SharedInput.detach(this);
    this.#tellFinished();
    this.connection.onClosed();
    this.#onGone(this);
  }
}

function onData(this: WiredSocket, bytes: Buffer): void {
  this[wired]?.receive(bytes);
}

function onRead(this: WiredSocket, count: number): void {
  const transport = this[wired];
  if (transport === undefined || transport.isSetAside(count)) return;
  inputTurns.begin(transport);
  transport.input?.pass(transport, count);
  inputTurns.end(transport);
}

function onEnd(this: WiredSocket): void {
  this[wired]?.receiveEnd();
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
