import { MalformedFrame } from './frame-layout.ts';

const uint32Range = 2 ** 32;
const safeHighMax = 2 ** 21 - 1;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the fields of one frame in order and never beyond its end; bytes after the last field are ignored. */
export class FrameCursor {
  readonly frame: Uint8Array;
  #at: number;

  constructor(frame: Uint8Array, at: number) {
    this.frame = frame;
    this.#at = at;
  }

  get at(): number {
    return this.#at;
  }

  /** Whether the frame has no further fields. */
  get isAtEnd(): boolean {
    return this.#at === this.frame.length;
  }

  u16At(at: number): number {
    const { frame } = this;
    return (frame[at] as number) | ((frame[at + 1] as number) << 8);
  }

  u32(): number {
    return this.#u32At(this.#advance(4));
  }

  u53(): number {
    const at = this.#advance(8);
    const high = this.#u32At(at + 4);
    if (high > safeHighMax) throw new MalformedFrame('an integer is 2^53 or more');
    return high * uint32Range + this.#u32At(at);
  }

  f64(): number {
    const { buffer, byteOffset } = this.frame;
    return new DataView(buffer, byteOffset + this.#advance(8), 8).getFloat64(0, true);
  }

  /** By bytes: a view for each frame would cost more than the few numbers in it. */
  #u32At(at: number): number {
    const { frame } = this;
    const low = (frame[at] as number) | ((frame[at + 1] as number) << 8) | ((frame[at + 2] as number) << 16);
    return low + (frame[at + 3] as number) * 2 ** 24;
  }

  /** UTF-8 of this many bytes, and the padding up to a multiple of 8. */
  text(bytes: number): string {
    const start = this.#advance(bytes);
    this.skip(Math.ceil(this.#at / 8) * 8 - this.#at);
    try {
      return decoder.decode(this.frame.subarray(start, start + bytes));
    } catch {
      throw new MalformedFrame('a text is not valid UTF-8');
    }
  }

  skip(bytes: number): void {
    this.#advance(bytes);
  }

  /** Refuses a count whose elements could not all be in the frame, before anything of that size is allocated. */
  mustHold(count: number, elementBytes: number): void {
    if (count * elementBytes > this.frame.length - this.#at) {
      throw new MalformedFrame(`a frame of ${this.frame.length} bytes cannot hold ${count} elements`);
    }
  }

  #advance(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.frame.length) {
      throw new MalformedFrame(`a frame of ${this.frame.length} bytes is too short for its fields`);
    }
    this.#at = at + bytes;
    return at;
  }
}
