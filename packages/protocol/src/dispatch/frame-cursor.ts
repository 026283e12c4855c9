import { MalformedFrame } from './frame-layout.ts';

const uint32Range = 2 ** 32;
const safeHighMax = 2 ** 21 - 1;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the fields of one frame in order and never beyond its end; bytes after the last field are ignored. */
export class FrameCursor {
  readonly frame: Uint8Array;
  readonly #view: DataView;
  #at: number;

  constructor(frame: Uint8Array, at: number) {
    this.frame = frame;
    this.#view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
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
    return this.#view.getUint16(at, true);
  }

  u32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  u53(): number {
    const at = this.#advance(8);
    const high = this.#view.getUint32(at + 4, true);
    if (high > safeHighMax) throw new MalformedFrame('an integer is 2^53 or more');
    return high * uint32Range + this.#view.getUint32(at, true);
  }

  f64(): number {
    return this.#view.getFloat64(this.#advance(8), true);
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
