/**
 * What is remembered of closed streams, in bounded memory: enough to answer each late frame as RFC 9113, 5.1
 * requires, which depends on how the stream ended.
 */
const resetsRemembered = 256;
const gapsRemembered = 64;

/** `reset-here`: this side reset it, so frames in flight are ignored. `never-used`: its number was skipped. */
export type Ending = 'completed' | 'reset-here' | 'reset-by-peer' | 'never-used';

export class ClosedStreams {
  /** A ring of stream numbers, negated where the peer reset the stream. Allocated when first needed. */
  #resets: Int32Array | undefined = undefined;
  #resetCount = 0;
  /** The highest number whose reset was forgotten: any stream up to it may have been reset. */
  #forgottenMax = 0;
  /** First and last number of each skipped range, pairwise. */
  #gaps: number[] | undefined = undefined;

  addReset(streamId: number, isByPeer: boolean): void {
    this.#resets ??= new Int32Array(resetsRemembered);
    const position = this.#resetCount % resetsRemembered;
    const forgotten = this.#resets[position] as number;
    if (forgotten > 0) this.#forgottenMax = Math.max(this.#forgottenMax, forgotten);
    this.#resets[position] = isByPeer ? -streamId : streamId;
    this.#resetCount++;
  }

  /** Numbers that a client skipped are closed without ever having been used (5.1.1). */
  addGap(first: number, last: number): void {
    this.#gaps ??= [];
    this.#gaps.push(first, last);
    if (this.#gaps.length > gapsRemembered * 2) this.#gaps.splice(0, 2);
  }

  endingOf(streamId: number): Ending {
    if (this.#resets !== undefined) {
      if (this.#resets.includes(streamId)) return 'reset-here';
      if (this.#resets.includes(-streamId)) return 'reset-by-peer';
      if (streamId <= this.#forgottenMax) return 'reset-here';
    }
    if (this.#gaps !== undefined) {
      for (let at = 0; at < this.#gaps.length; at += 2) {
        if (streamId >= (this.#gaps[at] as number) && streamId <= (this.#gaps[at + 1] as number)) return 'never-used';
      }
    }
    return 'completed';
  }
}
