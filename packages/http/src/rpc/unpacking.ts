/** Decompresses messages on the thread pool: a few at a time, and no more than there is memory for. */
import { createGunzip, createInflate } from 'node:zlib';
import type { Compression } from '../answer-packing.ts';
import { ByteGatherer } from '../wire/byte-gatherer.ts';
import type { MemoryLease } from '../wire/memory.ts';
import { OwnerRotation } from '../wire/owner-rotation.ts';

/** The request that a message belongs to. What is decompressed counts as held by it. */
export interface UnpackOwner {
  readonly peer: { readonly owner: string };
  readonly memory: MemoryLease;
  /** Holds this many bytes more. False: there is no memory, and the request has been told. */
  holdMore(bytes: number): boolean;
  /** Its caller already holds its share of the memory. */
  readonly isStarved: boolean;
  /** Refuses the request because there is no memory. */
  refuse(): void;
  /** Nobody waits for the message any more. */
  readonly isGivenUp: boolean;
}

/** A message to decompress. One of the outcomes is called, or none if the request was aborted. */
export interface PackedMessage {
  readonly bytes: Uint8Array;
  readonly compression: Compression;
  /** Most bytes that it may expand to. */
  readonly bytesMax: number;
  readonly owner: UnpackOwner;
  onUnpacked(message: Uint8Array): void;
  onTooLarge(): void;
  onInvalid(): void;
}

/** Size of the pieces that the decompressing thread returns. */
const pieceBytes = 64 * 1024;

/** Limits how many are decompressed at the same time; the others wait, and owners take turns. */
export class MessageUnpacking {
  readonly #insideMax: number;
  readonly #waiting = new OwnerRotation<PackedMessage>();
  #inside = 0;

  constructor(insideMax: number) {
    this.#insideMax = insideMax;
  }

  get inside(): number {
    return this.#inside;
  }

  unpack(packed: PackedMessage): void {
    if (packed.owner.isGivenUp) return;
    if (this.#inside < this.#insideMax) {
      this.#inside += 1;
      this.#begin(packed);
    } else this.#waiting.add(packed.owner.peer.owner, packed);
  }

  #begin(packed: PackedMessage): void {
    const { bytes, compression, bytesMax, owner } = packed;
    const options = { chunkSize: pieceBytes };
    const unpacker = compression === 'gzip' ? createGunzip(options) : createInflate(options);
    const message = new ByteGatherer(undefined, owner.memory);
    let isOver = false;
    const end = (tell: () => void): void => {
      if (isOver) return;
      isOver = true;
      unpacker.destroy();
      this.#leave();
      tell();
    };
    const giveUp = (): void => end(() => message.clear());
    const settle = (): void => {
      if (owner.isGivenUp) giveUp();
      else if (message.settle()) end(() => packed.onUnpacked(message.take()));
      else setImmediate(settle);
    };
    unpacker.on('data', (piece: Uint8Array) => {
      if (isOver) return;
      if (message.bytes + piece.length > bytesMax) {
        end(() => {
          message.clear();
          packed.onTooLarge();
        });
      } else if (owner.isGivenUp || !owner.holdMore(piece.length)) giveUp();
      else {
        message.push(piece);
        // Waiting here would make the others wait as well.
        if (!owner.isStarved) return;
        giveUp();
        owner.refuse();
      }
    });
    unpacker.once('end', settle);
    unpacker.on('error', () => end(() => packed.onInvalid()));
    unpacker.end(bytes);
  }

  /** The next one in turn runs in its stead. */
  #leave(): void {
    for (let next = this.#waiting.take(); next !== undefined; next = this.#waiting.take()) {
      if (next.owner.isGivenUp) continue;
      this.#begin(next);
      return;
    }
    this.#inside -= 1;
  }
}
