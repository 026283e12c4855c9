import type { Region } from './messages.ts';

/** A region in ordinary memory. Its release frees nothing, but a second release is detected, as in shared memory. */
export class HeapRegion implements Region {
  readonly bytes: Uint8Array;
  #isReleased: boolean = false;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  release(): void {
    if (this.#isReleased) throw new Error('a region was released twice');
    this.#isReleased = true;
  }
}
