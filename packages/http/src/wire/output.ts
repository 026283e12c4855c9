/**
 * The output of a connection, collected until the tick ends. Small pieces are written into a buffer that all
 * connections of a server fill in turn; large payloads are passed on without copying.
 */
import type { Transport } from './transport.ts';

/** Size of the shared buffer; a full one is left to the writes that still refer to it, and a new one is allocated. */
const arenaBytes = 65536;
/** Payloads up to this size are copied behind their frame header: cheaper than a separate piece in the system call. */
export const copiedBytesMax = 4096;

/** The buffer that all outputs of a server write into, one after the other. Written bytes are never overwritten. */
export class OutputArena {
  bytes: Buffer = Buffer.allocUnsafeSlow(arenaBytes);
  used = 0;

  renew(atLeastBytes: number): void {
    this.bytes = Buffer.allocUnsafeSlow(Math.max(arenaBytes, atLeastBytes));
    this.used = 0;
  }
}

const noPieces: Uint8Array[] = [];
const noBytes = Buffer.alloc(0);

export class Output {
  readonly #arena: OutputArena;
  readonly #transport: Transport;
  #pieces: Uint8Array[] = noPieces;
  #releases: (() => void)[] | undefined = undefined;
  /** The part of the arena that is being written: `[#start, #end)` of `bytes`. */
  bytes: Buffer = noBytes;
  #start = 0;
  #end = 0;
  /** Bytes collected and not handed over yet. */
  gatheredBytes = 0;

  constructor(arena: OutputArena, transport: Transport) {
    this.#arena = arena;
    this.#transport = transport;
  }

  /** Everything that has not reached the kernel. */
  get unsentBytes(): number {
    return this.gatheredBytes + this.#transport.pendingBytes;
  }

  /** Reserves `count` bytes at the end of the output; returns their offset in `bytes`. */
  reserve(count: number): number {
    const arena = this.#arena;
    if (arena.bytes !== this.bytes || arena.used !== this.#end || arena.used + count > arena.bytes.length) {
      this.#close();
      if (arena.used + count > arena.bytes.length) arena.renew(count);
      this.bytes = arena.bytes;
      this.#start = arena.used;
      this.#end = arena.used;
    }
    const offset = arena.used;
    arena.used = offset + count;
    this.#end = arena.used;
    this.gatheredBytes += count;
    return offset;
  }

  /** Returns what the last `reserve` did not need: the output ends at `offset`. */
  trim(offset: number): void {
    this.gatheredBytes -= this.#end - offset;
    this.#end = offset;
    this.#arena.used = offset;
  }

  /** Adds a payload. True when it was copied, so that its memory is free at once. */
  append(payload: Uint8Array): boolean {
    if (payload.length <= copiedBytesMax) {
      const offset = this.reserve(payload.length);
      this.bytes.set(payload, offset);
      return true;
    }
    this.#close();
    if (this.#pieces === noPieces) this.#pieces = [];
    this.#pieces.push(payload);
    this.gatheredBytes += payload.length;
    return false;
  }

  /** Calls back when the kernel has everything appended so far, or never will. */
  whenTaken(release: () => void): void {
    this.#releases ??= [];
    this.#releases.push(release);
  }

  flush(): void {
    if (this.gatheredBytes === 0) {
      if (this.#releases === undefined) return;
      // Earlier pieces may not have been written yet: the callback queues behind them.
      if (this.#pieces === noPieces) this.#pieces = [noBytes];
    }
    this.#close();
    const pieces = this.#pieces;
    this.#forget();
    const releases = this.#releases;
    this.#releases = undefined;
    this.#transport.write(pieces, releases === undefined ? undefined : () => callAll(releases));
  }

  /** Drops what was collected; its memory is free. */
  discard(): void {
    this.#forget();
    this.#release();
  }

  #forget(): void {
    this.#pieces = noPieces;
    this.gatheredBytes = 0;
    // An idle connection must not keep a whole arena alive.
    this.bytes = noBytes;
    this.#start = 0;
    this.#end = 0;
  }

  #release(): void {
    const releases = this.#releases;
    if (releases === undefined) return;
    this.#releases = undefined;
    callAll(releases);
  }

  #close(): void {
    if (this.#end > this.#start) {
      if (this.#pieces === noPieces) this.#pieces = [];
      this.#pieces.push(this.bytes.subarray(this.#start, this.#end));
    }
    this.#start = this.#end;
  }
}

function callAll(callbacks: readonly (() => void)[]): void {
  for (const callback of callbacks) callback();
}
