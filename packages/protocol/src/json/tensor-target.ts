import { type Datatype, datatypes } from '../datatypes.ts';
import { InferenceError } from '../errors.ts';
import { quote, shortened } from '../quote.ts';
import { elementCount, formatShape } from '../tensor-shape.ts';
import { GrowableBytes } from './growable-bytes.ts';
import type { JsonKind, JsonReader } from './reader.ts';
import { textOfNumber } from './scan-number.ts';

const noBytes = new Uint8Array(0);
const noHalves = new Uint16Array(0);
const noUint32s = new Uint32Array(0);
const noSingles = new Float32Array(0);
const noDoubles = new Float64Array(0);
const noGrowable = new GrowableBytes(0);
/** Digits of a number that a message quotes. */
const numberQuotedMax = 40;

/**
 * Where the elements of one tensor are read to. Each kind of array has its own field, so that each store instruction
 * in the code only ever sees one kind.
 */
export class TensorTarget {
  readonly reader: JsonReader;
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** Elements that the shape has, those read so far, and the number of open arrays. */
  readonly count: number;
  found = 0;
  depth = 1;
  bytes: Uint8Array = noBytes;
  halves: Uint16Array = noHalves;
  /** 32-bit integers; for 64-bit ones two each, the lower first. */
  uint32s: Uint32Array = noUint32s;
  singles: Float32Array = noSingles;
  doubles: Float64Array = noDoubles;
  growable: GrowableBytes = noGrowable;
  /** A reader of elements stopped before an array. */
  isAtArray: boolean = false;
  /** A reader of elements stops before the first that begins here or later, and sets `isPaused`. */
  pauseAt = 0;
  isPaused: boolean = false;
  /** Offset in `growable`, from its piece, for the length of a string that is read in parts; -1: none. */
  textPrefix = -1;
  /** The same for the first character of base64 that is not decoded yet; -1: the string is text. */
  base64Start = -1;

  constructor(
    reader: JsonReader,
    header: { readonly name: string; readonly datatype: Datatype; readonly shape: readonly number[] },
    count: number,
  ) {
    this.reader = reader;
    this.name = header.name;
    this.datatype = header.datatype;
    this.shape = header.shape;
    this.count = count;
    switch (header.datatype) {
      case 'FP32':
        this.singles = new Float32Array(count);
        this.bytes = new Uint8Array(this.singles.buffer);
        return;
      case 'FP64':
        this.doubles = new Float64Array(count);
        this.bytes = new Uint8Array(this.doubles.buffer);
        return;
      case 'BYTES':
        this.growable = new GrowableBytes(count * 8 + 64);
        return;
      default: {
        const elementBytes = datatypes[header.datatype].bytes;
        if (elementBytes === 1) this.bytes = new Uint8Array(count);
        else if (elementBytes === 2) {
          this.halves = new Uint16Array(count);
          this.bytes = new Uint8Array(this.halves.buffer);
        } else {
          this.uint32s = new Uint32Array((count * elementBytes) / 4);
          this.bytes = new Uint8Array(this.uint32s.buffer);
        }
      }
    }
  }

  /** The finished data. */
  take(): Uint8Array {
    return this.datatype === 'BYTES' ? this.growable.take() : this.bytes;
  }

  /** The reader's position is at or after `pauseAt`. Returns `read`, the elements read before it. */
  pause(read: number): number {
    this.isPaused = true;
    return read;
  }

  /**
   * No element of the datatype is at the reader's position: that is allowed where another array begins. Returns `read`,
   * the elements read before it.
   */
  stopAtArray(read: number, element: number, wanted: string): number {
    const kind = this.reader.peekKind();
    if (kind !== 'array') {
      throw this.refusal(
        `element ${element} of input ${quote(this.name)} is ${describeKind(kind)}; ${this.datatype} takes ${wanted}`,
      );
    }
    this.isAtArray = true;
    return read;
  }

  /** The number just read has the wrong type or size. */
  wrongNumber(element: number, problem: string): InferenceError {
    const text = textOfNumber(this.reader.bytes, this.reader.number);
    return this.refusal(
      `element ${element} of input ${quote(this.name)} is ${shortened(text, numberQuotedMax)}, which ${problem}`,
    );
  }

  /**
   * There are more or fewer elements than the shape says. Begins with Triton's message, because its clients match on
   * it.
   */
  wrongCount(found: string): InferenceError {
    return this.refusal(
      `Unable to parse 'data': Shape does not match true shape of 'data' field: input ${quote(this.name)} has ${found} ` +
        `elements; shape ${formatShape(this.shape)} takes ${elementCount(this.shape)}`,
    );
  }

  refusal(message: string): InferenceError {
    return new InferenceError('invalid-request', message);
  }
}

/** The name of a kind of value in messages. */
export function describeKind(kind: JsonKind): string {
  if (kind === 'null') return kind;
  return kind === 'array' || kind === 'object' ? `an ${kind}` : `a ${kind}`;
}
