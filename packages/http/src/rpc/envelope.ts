/** The framing that gRPC, gRPC-Web and Connect streams share: a flags byte, a 32-bit length, the message. */
import { type LentBody, lentBytesMin, type ReadTarget } from '../wire/body-pool.ts';
import { type BodyLender, ByteGatherer, keptCopyOf, unpinned } from '../wire/byte-gatherer.ts';
import type { MemoryLease } from '../wire/memory.ts';
import { messageTooLarge } from './compression.ts';
import { RpcError } from './rpc-error.ts';
import type { MessageBytes, PlaceMessage } from './service.ts';

export const envelopePrefixBytes = 5;
export const envelopeFlag = { compressed: 1, connectEnd: 2, webTrailers: 128 } as const;

export function envelopePrefix(flags: number, bytes: number): Uint8Array {
  const prefix = Buffer.allocUnsafe(envelopePrefixBytes);
  writePrefix(prefix, flags, bytes);
  return prefix;
}

/** Prefix and message, which has this many bytes, in one piece. */
export function joinedEnvelope(flags: number, bytes: number, message: MessageBytes): Uint8Array {
  const envelope = Buffer.allocUnsafe(envelopePrefixBytes + bytes);
  writePrefix(envelope, flags, bytes);
  if (message instanceof Uint8Array) {
    envelope.set(message, envelopePrefixBytes);
    return envelope;
  }
  let at = envelopePrefixBytes;
  for (let index = 0; index < message.length; index++) {
    const piece = message[index] as Uint8Array;
    envelope.set(piece, at);
    at += piece.length;
  }
  return envelope;
}

function writePrefix(into: Uint8Array, flags: number, bytes: number): void {
  into[0] = flags;
  into[1] = bytes >>> 24;
  into[2] = bytes >>> 16;
  into[3] = bytes >>> 8;
  into[4] = bytes;
}

/** Reads the body of a request piece by piece. */
export interface MessageReader {
  /** The piece stays valid. */
  push(piece: Uint8Array): void;
  /** The piece is valid until this returns. A reader without this method gets a copy by `push`. */
  pushLent?(piece: Uint8Array): void;
  /** Where at most `bytesMax` of the next bytes may be written; undefined: nowhere. */
  readTarget?(bytesMax: number): ReadTarget | undefined;
  /** Where in this memory the next bytes go; -1: they do not. */
  offsetIn?(lent: LentBody): number;
  /** So many bytes were written to the target in this memory. False: it is no longer a message's. */
  takeWritten?(bytes: number, lent: LentBody): boolean;
  /** The body is complete. */
  end(): void;
  /** Delivers nothing more until `release`; what arrives meanwhile is buffered. */
  hold(): void;
  release(): void;
  /** Nothing more will be delivered. */
  close(): void;
  /** Part of a message has arrived, and the rest is awaited. */
  readonly isMidMessage: boolean;
}

export interface MessageSink {
  /** If the memory of the message is lent, the sink has to release it. A message that was placed comes as head and tail. */
  onMessage(message: Uint8Array, isCompressed: boolean, lent: LentBody | undefined, tail?: Uint8Array): void;
  onMessagesEnd(): void;
  onBadMessage(error: RpcError): void;
}

export class EnvelopeReader implements MessageReader {
  readonly #sink: MessageSink;
  readonly #bytesMax: number;
  readonly #memory: MemoryLease;
  readonly #lender: BodyLender | undefined;
  readonly #place: PlaceMessage | undefined;
  #prefix: Uint8Array | undefined = undefined;
  #prefixBytes = 0;
  #flags = 0;
  #length = 0;
  /** The current message, if it did not arrive in one piece. */
  #message: ByteGatherer | undefined = undefined;
  #isHeld: boolean = false;
  #isReleasing: boolean = false;
  #isEnded: boolean = false;
  #isBroken: boolean = false;
  #kept: Uint8Array[] | undefined = undefined;

  /** With a lender, large messages that are not compressed are in memory of it, or of the placement that `place` finds. */
  constructor(
    sink: MessageSink,
    bytesMax: number,
    memory: MemoryLease,
    lender?: BodyLender | undefined,
    place?: PlaceMessage | undefined,
  ) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
    this.#memory = memory;
    this.#lender = lender;
    this.#place = place;
  }

  get isMidMessage(): boolean {
    return this.#message !== undefined || this.#prefixBytes > 0;
  }

  push(piece: Uint8Array): void {
    this.#read(piece, false);
  }

  pushLent(piece: Uint8Array): void {
    this.#read(piece, true);
  }

  #read(piece: Uint8Array, isLent: boolean): void {
    let at = 0;
    while (at < piece.length && !this.#isBroken) {
      if (this.#isHeld) {
        const rest = at === 0 ? piece : piece.subarray(at);
        this.#kept ??= [];
        this.#kept.push(isLent ? keptCopyOf(rest) : rest);
        return;
      }
      at = this.#message !== undefined ? this.#fill(piece, at, isLent) : this.#open(piece, at, isLent);
    }
  }

  readTarget(bytesMax: number): ReadTarget | undefined {
    const message = this.#message;
    if (message === undefined || this.#isHeld) return undefined;
    return message.readTarget(Math.min(bytesMax, this.#length - message.bytes));
  }

  offsetIn(lent: LentBody): number {
    return this.#message === undefined || this.#isHeld ? -1 : this.#message.offsetIn(lent);
  }

  takeWritten(bytes: number, lent: LentBody): boolean {
    const message = this.#message;
    if (message === undefined || message.offsetIn(lent) < 0) return false;
    message.skipWritten(bytes);
    if (!this.#isHeld) this.#deliverIfWhole(message);
    return true;
  }

  end(): void {
    this.#isEnded = true;
    if (this.#isHeld || this.#isBroken) return;
    if (this.isMidMessage) {
      const at = this.#message === undefined ? 'its length' : `${this.#message.bytes} of its ${this.#length} bytes`;
      this.#break(new RpcError('invalid_argument', `the request ends within a message, after ${at}`));
      return;
    }
    this.#sink.onMessagesEnd();
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    // The sink may hold and release while it is given a message: the rest follows when that returns.
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    if (this.#message !== undefined) this.#deliverIfWhole(this.#message);
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept !== undefined) for (const piece of kept) this.push(piece);
    this.#isReleasing = false;
    if (this.#isEnded) this.end();
  }

  close(): void {
    this.#isBroken = true;
    this.#kept = undefined;
    this.#message?.clear();
    this.#message = undefined;
  }

  /** Reads a prefix, and the message with it if the piece contains all of it. Returns where it stopped. */
  #open(piece: Uint8Array, from: number, isLent: boolean): number {
    let at = from;
    if (this.#prefixBytes === 0 && piece.length - at >= envelopePrefixBytes) {
      if (!this.#accept(piece, at)) return piece.length;
      at += envelopePrefixBytes;
    } else {
      this.#prefix ??= new Uint8Array(envelopePrefixBytes);
      while (this.#prefixBytes < envelopePrefixBytes && at < piece.length) {
        this.#prefix[this.#prefixBytes++] = piece[at++] as number;
      }
      if (this.#prefixBytes < envelopePrefixBytes) return at;
      this.#prefixBytes = 0;
      if (!this.#accept(this.#prefix, 0)) return piece.length;
    }
    const end = at + this.#length;
    if (end <= piece.length && (!isLent || this.#length < lentBytesMin)) {
      const message = piece.subarray(at, end);
      this.#deliver(isLent ? keptCopyOf(message) : unpinned(message), undefined);
      return end;
    }
    this.#message = this.#gatherer(piece, at);
    return at;
  }

  #gatherer(piece: Uint8Array, at: number): ByteGatherer {
    if (this.#isCompressed) return new ByteGatherer(this.#length, this.#memory);
    const isPlaced = this.#place !== undefined && this.#length >= lentBytesMin && at < piece.length;
    const placement = isPlaced ? this.#place?.(piece.subarray(at), this.#length) : undefined;
    return new ByteGatherer(this.#length, this.#memory, this.#lender, placement);
  }

  #accept(bytes: Uint8Array, at: number): boolean {
    this.#flags = bytes[at] as number;
    const high = bytes[at + 1] as number;
    this.#length =
      high * 0x1000000 +
      (((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 8) | (bytes[at + 4] as number));
    if ((this.#flags & ~envelopeFlag.compressed) !== 0) {
      this.#break(
        new RpcError(
          'invalid_argument',
          `a message has the flags ${this.#flags}; a request may only set flag 1 (compressed)`,
        ),
      );
      return false;
    }
    if (this.#length > this.#bytesMax) {
      this.#break(messageTooLarge(`a message of ${this.#length} bytes`, this.#bytesMax));
      return false;
    }
    return true;
  }

  get #isCompressed(): boolean {
    return (this.#flags & envelopeFlag.compressed) !== 0;
  }

  #fill(piece: Uint8Array, from: number, isLent: boolean): number {
    const message = this.#message as ByteGatherer;
    const taken = Math.min(piece.length - from, this.#length - message.bytes);
    const part = taken === piece.length ? piece : piece.subarray(from, from + taken);
    if (isLent) message.pushLent(part);
    else message.push(part);
    this.#deliverIfWhole(message);
    return from + taken;
  }

  #deliverIfWhole(message: ByteGatherer): void {
    if (message.bytes < this.#length) return;
    message.settleNow();
    this.#message = undefined;
    const { bytes, lent, tail } = message.takeGathered();
    this.#deliver(bytes, lent, tail);
  }

  #deliver(message: Uint8Array, lent: LentBody | undefined, tail?: Uint8Array): void {
    this.#sink.onMessage(message, this.#isCompressed, lent, tail);
  }

  #break(error: RpcError): void {
    this.close();
    this.#sink.onBadMessage(error);
  }
}
