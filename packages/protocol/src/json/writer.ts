import { GrowableBytes } from './growable-bytes.ts';
import { jsonDepthMax } from './reader.ts';
import { numberCharactersReserved, writeInteger } from './write-number.ts';
import { appendAscii, appendQuoted } from './write-string.ts';

/**
 * Writes JSON text directly into bytes, commas included. One writer serves many texts: what `take` returns stays
 * intact.
 *
 *     writer.beginObject();
 *     writer.key('model_name');
 *     writer.string('mlp');
 *     writer.endObject();
 *     socket.write(writer.take());
 */
export class JsonWriter {
  /** Codecs that write values on their own (see tensor-writer.ts) append here, between `beginValue` and `endValue`. */
  readonly sink: GrowableBytes;
  #isCommaDue: boolean = false;
  #depth = 0;

  constructor(initialBytes?: number) {
    this.sink = new GrowableBytes(initialBytes);
  }

  /** The text written since the last call. */
  take(): Uint8Array {
    this.#isCommaDue = false;
    this.#depth = 0;
    return this.sink.take();
  }

  /** The text written since the last call, also within a value: what follows continues where this ended. */
  takePart(): Uint8Array {
    return this.sink.take();
  }

  /** Drops the text written since the last `take`: after an error in the middle of it. */
  discard(): void {
    this.#isCommaDue = false;
    this.#depth = 0;
    this.sink.discard();
  }

  /** ASCII text that is no JSON, between two values: one writer then serves several with other text around them. */
  between(text: string): void {
    appendAscii(this.sink, text);
    this.#isCommaDue = false;
  }

  beginObject(): void {
    this.#open(0x7b);
  }

  endObject(): void {
    this.#close(0x7d);
  }

  beginArray(): void {
    this.#open(0x5b);
  }

  endArray(): void {
    this.#close(0x5d);
  }

  key(name: string): void {
    this.beginValue();
    appendQuoted(this.sink, name);
    this.#byte(0x3a);
    this.#isCommaDue = false;
  }

  string(value: string): void {
    this.beginValue();
    appendQuoted(this.sink, value);
    this.endValue();
  }

  /** Shortest text that reads back as the same number; NaN and the infinities as bare literals. */
  number(value: number | bigint): void {
    this.beginValue();
    if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0)) {
      this.sink.reserve(numberCharactersReserved);
      this.sink.end = writeInteger(this.sink.bytes, this.sink.end, value);
    } else appendAscii(this.sink, Object.is(value, -0) ? '-0' : String(value));
    this.endValue();
  }

  boolean(value: boolean): void {
    this.beginValue();
    appendAscii(this.sink, value ? 'true' : 'false');
    this.endValue();
  }

  null(): void {
    this.beginValue();
    appendAscii(this.sink, 'null');
    this.endValue();
  }

  /** Writes the comma that is needed before a value. */
  beginValue(): void {
    if (this.#isCommaDue) this.#byte(0x2c);
  }

  endValue(): void {
    this.#isCommaDue = true;
  }

  #open(bracket: number): void {
    if (this.#depth === jsonDepthMax) throw new RangeError(`a JSON value is nested more than ${jsonDepthMax} deep`);
    this.#depth += 1;
    this.beginValue();
    this.#byte(bracket);
    this.#isCommaDue = false;
  }

  #close(bracket: number): void {
    this.#depth -= 1;
    this.#byte(bracket);
    this.#isCommaDue = true;
  }

  #byte(byte: number): void {
    this.sink.reserve(1);
    this.sink.bytes[this.sink.end] = byte;
    this.sink.end += 1;
  }
}
