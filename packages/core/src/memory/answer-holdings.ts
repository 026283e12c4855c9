import { assert } from '../assert.ts';
import { leavesEnough } from './memory-share.ts';

/** Answers up to this size are always held: they are counted, and seldom add up. */
export const smallAnswerBytesMax: number = 64 * 1024;

/**
 * Who may hold how many bytes of answers inside the server, of steps of an ensemble or until it is their turn: a small request may have large
 * answers, and many requests may wait for a slow one. The rule is that of other memory (memory-share.ts): a caller may take
 * another answer while it leaves enough free. Whatever is held by nobody else, one answer of any size is taken.
 */
export class AnswerHoldings {
  readonly bytesMax: number;
  #bytes = 0;
  readonly #byCaller = new Map<string, number>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Why it cannot be held; undefined: it is held until it is given back. The caller '' has no share. */
  take(caller: string, bytes: number): 'caller-full' | 'server-full' | undefined {
    const own = this.#byCaller.get(caller) ?? 0;
    if (bytes > smallAnswerBytesMax && this.#bytes > 0) {
      const free = this.bytesMax - this.#bytes;
      if (caller !== '' && !leavesEnough(this.bytesMax, own, Math.max(0, free))) return 'caller-full';
      if (bytes > free) return 'server-full';
    }
    this.#bytes += bytes;
    if (bytes > 0) this.#byCaller.set(caller, own + bytes);
    return undefined;
  }

  giveBack(caller: string, bytes: number): void {
    if (bytes === 0) return;
    const left = (this.#byCaller.get(caller) ?? 0) - bytes;
    assert(left >= 0, 'more bytes of answers were given back than were held');
    this.#bytes -= bytes;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}
