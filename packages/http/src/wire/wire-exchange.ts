/**
 * One request and its answer as plain calls: used by the hot paths (gRPC, streaming) directly, and adapted to the
 * `HttpHandler` seam for the rest. HTTP/1.1 and HTTP/2 each have one implementation.
 *
 * The body is paused until `resume()`. Whoever received an exchange must end it, by `answer`, `end` or `abort`, also
 * after `onAbort`: until then it counts as an open request of the connection, so that cancelled work is limited too.
 */
import type { BodyPlacement, HeaderList, Peer, StandingResponse } from '../exchange.ts';
import type { MoveAway } from './arriving-bodies.ts';
import { type BodyPool, LentBody, type ReadTarget } from './body-pool.ts';
import { BodyQueue } from './body-queue.ts';
import { type BodyLender, keptCopyOf } from './byte-gatherer.ts';
import { type FieldList, noFields } from './field-list.ts';
import type { ConnectionMemory, MemoryHolder, MemoryLease, MemoryVerdict } from './memory.ts';

/** What an application attaches to an exchange. Calls come from the connection, one at a time. */
export interface ExchangeListener {
  /** A piece of the body; the view stays valid. Call `exchange.pause()` to get no more until `resume()`. */
  onData(piece: Uint8Array): void;
  /**
   * A piece that is valid until this returns, for listeners that copy it anyway. A listener without this method gets a
   * copy by `onData`.
   */
  onLentData?(piece: Uint8Array): void;
  /** Where at most `bytesMax` of the next bytes may be written. Undefined: they come by `onData` or `onLentData`. */
  readTarget?(bytesMax: number): ReadTarget | undefined;
  /** Where in this memory the next bytes go; -1: they do not. */
  offsetIn?(lent: LentBody): number;
  /** So many bytes were written to the target in this memory. False: it is no longer the body's. */
  takeWritten?(bytes: number, lent: LentBody): boolean;
  /** The body is complete, and so are the trailers. */
  onEnd(): void;
  /** The client disconnected or reset the request. Nothing else is called after it, and nothing sent will arrive. */
  onAbort(reason: string): void;
  /** There is room again after a `write` that returned false. */
  onDrain(): void;
  /** There is no memory for the rest of the body, which is discarded. The exchange must still be answered. */
  onRefused(): void;
}

export type WireHandler = (exchange: WireExchange) => void;

export type AnswerBody = Uint8Array | readonly Uint8Array[] | undefined;

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authority: string;
  readonly version: '1.0' | '1.1' | '2';
  readonly headers: FieldList;
  /** The declared length of the body. */
  readonly lengthBytes: number | undefined;
}

/** Memory that a request takes before any of its body has arrived, in addition to the fields of its head. */
export const requestOverheadBytes = 2048;

/** Answers up to this size are sent whatever their caller holds: they need no more than the request did. */
const freeAnswerBytes = 64 * 1024;

export abstract class WireExchange implements RequestHead, MemoryHolder, BodyLender {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authority: string;
  readonly version: '1.0' | '1.1' | '2';
  readonly headers: FieldList;
  readonly lengthBytes: number | undefined;
  readonly peer: Peer;
  trailers: FieldList = noFields;
  listener: ExchangeListener | undefined = undefined;
  /** Set before the answer: gives that of the same request later, without a handler. */
  again: (() => StandingResponse) | undefined = undefined;
  /** Why the request was aborted, if it was. */
  abortReason: string | undefined = undefined;
  /** Whether the whole body has arrived, read or not. */
  isBodyComplete: boolean = false;
  /** What the request holds: its body until it is answered, then the answer until it has been sent. */
  readonly memory: MemoryLease;
  /** Whether more of the body must arrive within a time: all of it is awaited, or the rest of a message. */
  isBodyDue: boolean;
  /** The body has to wait for memory. The connection's clock notes since when. */
  isStarved: boolean = false;
  starvedMs = -1;
  /** There is no memory for it. */
  isRefused: boolean = false;
  #queue: BodyQueue | undefined = undefined;
  #isFlowing: boolean = false;
  #isEndTold: boolean = false;
  #unsentBytes = 0;
  readonly #bodies: BodyPool | undefined;
  /** Lent to the body and not released, and how much of the last that was lent is not filled yet. */
  #lentBytes = 0;
  #lentRoomBytes = 0;
  #isMemorySettled: boolean = false;

  /** Without a pool no memory is lent. */
  constructor(head: RequestHead, peer: Peer, memory: ConnectionMemory, bodies?: BodyPool) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.authority = head.authority;
    this.version = head.version;
    this.headers = head.headers;
    this.lengthBytes = head.lengthBytes;
    this.peer = peer;
    this.isBodyDue = head.lengthBytes !== undefined || head.version !== '2';
    this.#bodies = bodies;
    this.memory = memory.lease(this);
    this.#follow(this.memory.hold(requestOverheadBytes + head.headers.listBytes));
  }

  /** Sends an interim (1xx) response. */
  abstract inform(status: number, headers: HeaderList): void;
  /** Sends the response's head; the body follows by `write`. Throws when a field may not be sent. */
  abstract start(status: number, headers: HeaderList): void;
  /**
   * Sends a piece of the body. False means: wait for `onDrain`. The piece belongs to the transport until `release` is
   * called: when the kernel has it, or never will.
   */
  abstract write(piece: Uint8Array, release?: () => void): boolean;
  /** Ends the response, with trailers where the version has them. */
  abstract end(trailers?: HeaderList): void;
  /** Sends a whole response in one call: the fast path. `release` as for `write`. */
  abstract answer(
    status: number,
    headers: HeaderList,
    body: AnswerBody,
    trailers: HeaderList | undefined,
    release: (() => void) | undefined,
  ): void;
  /** Calls back when the kernel has everything written so far, or never will. */
  abstract whenSent(release: () => void): void;
  /** Aborts the exchange: the client sees a broken response. */
  abstract abort(): void;
  /** Whether the response's head has been sent. */
  abstract readonly isStarted: boolean;

  /** The application consumed body bytes: the peer may send as many more. */
  protected abstract credit(bytes: number): void;
  /** The application asks for the body for the first time or again. */
  protected abstract onBodyWanted(): void;
  /** Body bytes were discarded. */
  protected abstract onBodyDropped(bytes: number): void;

  /** Nobody waits for the answer any more. */
  get isGivenUp(): boolean {
    return this.#isMemorySettled || this.isRefused || this.abortReason !== undefined;
  }

  get isFlowing(): boolean {
    return this.#isFlowing;
  }

  /** Body bytes that wait for the application. */
  get queuedBytes(): number {
    return this.#queue === undefined ? 0 : this.#queue.bytes;
  }

  pause(): void {
    this.#isFlowing = false;
  }

  /** Delivers the body to the listener, beginning now with what has arrived. */
  resume(): void {
    if (this.#isFlowing || this.#isEndTold || this.abortReason !== undefined) return;
    this.#isFlowing = true;
    this.#deliver();
  }

  #deliver(): void {
    while (this.#isFlowing && !this.isStarved) {
      const piece = this.#queue?.take();
      if (piece === undefined) break;
      this.listener?.onData(piece);
      this.credit(piece.length);
    }
    if (!this.#isFlowing || this.isStarved || this.abortReason !== undefined) return;
    if (this.isBodyComplete) this.#tellEnd();
    else this.onBodyWanted();
  }

  /** For the connection: a piece arrived. If it is lent, it is valid until this returns. */
  acceptData(piece: Uint8Array, isLent = false): void {
    // Nobody will read it: the request has been answered or refused.
    if (this.isRefused || this.#isMemorySettled) {
      this.onBodyDropped(piece.length);
      return;
    }
    this.#holdArrived(piece.length);
    if (this.isRefused) this.onBodyDropped(piece.length);
    else if (this.#isFlowing && !this.isStarved) {
      if (isLent) this.#passLent(piece);
      else this.listener?.onData(piece);
      this.credit(piece.length);
    } else {
      this.#queue ??= new BodyQueue();
      this.#queue.push(isLent ? keptCopyOf(piece) : piece);
    }
  }

  /** Bytes for which there is lent memory are counted already: whoever collects them gives them back. */
  #holdArrived(bytes: number): void {
    if (bytes <= this.#lentRoomBytes) {
      this.#lentRoomBytes -= bytes;
      this.memory.count(bytes);
    } else this.#follow(this.memory.hold(bytes));
  }

  #passLent(piece: Uint8Array): void {
    const { listener } = this;
    if (listener?.onLentData === undefined) listener?.onData(keptCopyOf(piece));
    else listener.onLentData(piece);
  }

  /**
   * Lends memory for the body where there is room for all of it in the owner's share; else the body is counted as it
   * arrives. It is counted until it is released, also after the answer.
   */
  lendBody(bytes: number, filledBytes: number): LentBody | undefined {
    const bodies = this.#bodies;
    const capacity = bodies?.capacityFor(bytes);
    if (bodies === undefined || capacity === undefined || !this.memory.hasRoomFor(capacity)) return undefined;
    const buffer = bodies.take(capacity);
    return this.#lent(buffer, filledBytes, () => bodies.giveBack(buffer));
  }

  /** The same in memory of the placement. */
  lendPlaced(placement: BodyPlacement, bytes: number, filledBytes: number, moveAway: MoveAway): LentBody | undefined {
    const bodies = this.#bodies;
    if (bodies === undefined || !this.memory.hasRoomFor(bytes)) return undefined;
    const memory = placement.lend(bytes);
    if (memory === undefined) return undefined;
    const { buffer, byteOffset } = memory.bytes;
    bodies.arriving.add(moveAway);
    bodies.placedBytes += bytes;
    return this.#lent(Buffer.from(buffer, byteOffset, bytes), filledBytes, () => {
      bodies.arriving.remove(moveAway);
      bodies.placedBytes -= bytes;
      memory.release();
    });
  }

  #lent(buffer: Buffer, filledBytes: number, giveBack: () => void): LentBody {
    const capacity = buffer.length;
    this.memory.count(capacity);
    this.#lentBytes += capacity;
    this.#lentRoomBytes = capacity - filledBytes;
    return new LentBody(buffer, () => {
      giveBack();
      this.#lentBytes -= capacity;
      if (this.#lentBytes === 0) this.#lentRoomBytes = 0;
      this.memory.give(capacity);
    });
  }

  /** For the transport; HTTP/1.1 lets it read into the memory of a body. */
  onBodyMoved(): void {}

  /** For the connection: where at most `bytesMax` of the next bytes of the body may be written. Undefined: they arrive by `acceptData`. */
  readTarget(bytesMax: number): ReadTarget | undefined {
    if (!this.#isFlowing || this.isStarved || this.queuedBytes > 0 || this.#lentRoomBytes === 0) return undefined;
    return this.listener?.readTarget?.(Math.min(bytesMax, this.#lentRoomBytes));
  }

  /** For the connection: where in this memory, of a target, the next bytes of the body go; -1: they do not. */
  offsetIn(lent: LentBody): number {
    const isTaken = this.#isFlowing && !this.isStarved && this.queuedBytes === 0;
    return isTaken ? (this.listener?.offsetIn?.(lent) ?? -1) : -1;
  }

  /** For the connection: so many bytes were written to the target. */
  acceptWritten(bytes: number, lent: LentBody): void {
    // Nobody reads the body any more, or it has to be read from elsewhere.
    if (this.isRefused || this.#isMemorySettled || this.listener?.takeWritten?.(bytes, lent) !== true) {
      this.onBodyDropped(bytes);
      return;
    }
    this.#lentRoomBytes -= bytes;
    this.credit(bytes);
  }

  /** For the connection: the body is complete. */
  acceptEnd(trailers: FieldList): void {
    this.isBodyComplete = true;
    this.trailers = trailers;
    this.memory.complete();
    if (this.#isFlowing && !this.isStarved) this.#tellEnd();
  }

  /** For the connection: the request is aborted. Returns how many body bytes nobody will read. */
  acceptAbort(reason: string): number {
    const unread = this.discardBody();
    if (this.abortReason !== undefined) return unread;
    this.abortReason = reason;
    this.#isFlowing = false;
    this.listener?.onAbort(reason);
    return unread;
  }

  /** For the connection: nobody will read the rest. */
  discardBody(): number {
    const unread = this.queuedBytes;
    this.#queue?.clear();
    return unread;
  }

  /** Holds more for the request than its body. False: there is no memory, and the request is refused. */
  holdMore(bytes: number): boolean {
    if (this.#isMemorySettled) return false;
    this.#follow(this.memory.hold(bytes));
    return !this.isRefused;
  }

  /**
   * Whether a whole answer of this many bytes may be sent: a large one only if its caller reads the answers before it.
   * What the request holds is released for it.
   */
  hasRoomToAnswer(bytes: number): boolean {
    return (
      bytes <= Math.max(freeAnswerBytes, this.memory.heldBytes) || this.hasRoomToKeep(bytes - this.memory.heldBytes)
    );
  }

  /** The same for an answer that is held in addition to what is held already. */
  hasRoomToKeep(bytes: number): boolean {
    return bytes <= freeAnswerBytes || this.memory.hasRoomFor(bytes);
  }

  /** This many bytes of the answer wait to be sent. Call the callback when they have been sent, or never will be. */
  holdUnsent(bytes: number, release: (() => void) | undefined): () => void {
    this.#unsentBytes += bytes;
    this.memory.count(bytes);
    return () => {
      this.#unsentBytes -= bytes;
      this.memory.give(bytes);
      release?.();
    };
  }

  /** The application has ended its response: all that the request still holds is what waits to be sent or is lent. */
  settleMemory(): void {
    this.#isMemorySettled = true;
    this.isStarved = false;
    this.starvedMs = -1;
    this.#lentRoomBytes = 0;
    this.memory.keep(this.#unsentBytes + this.#lentBytes);
  }

  /** The exchange is aborted: all that it still holds is what was handed over already, and memory that was lent for its body. */
  protected endMemory(): void {
    this.memory.end();
    const bytes = this.#unsentBytes + this.#lentBytes;
    if (bytes > 0) this.memory.count(bytes);
  }

  /** For the ledger: the body may continue. */
  onMemory(): void {
    this.isStarved = false;
    this.starvedMs = -1;
    if (this.abortReason !== undefined || this.isRefused) return;
    if (this.#isFlowing) this.#deliver();
    else this.onBodyWanted();
  }

  /** The request has waited too long for memory, or too much of it arrived meanwhile. */
  refuse(): void {
    if (this.isRefused || this.abortReason !== undefined) return;
    this.isRefused = true;
    this.isStarved = false;
    this.starvedMs = -1;
    this.#isFlowing = false;
    const dropped = this.discardBody();
    if (dropped > 0) this.onBodyDropped(dropped);
    this.listener?.onRefused();
    // Whoever collected the body has released it.
    this.settleMemory();
  }

  #follow(verdict: MemoryVerdict): void {
    if (verdict === 'granted') return;
    if (verdict === 'waiting') this.isStarved = true;
    else this.refuse();
  }

  #tellEnd(): void {
    this.#isFlowing = false;
    this.#isEndTold = true;
    this.listener?.onEnd();
  }
}
