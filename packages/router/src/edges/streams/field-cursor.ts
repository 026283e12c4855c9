/** The fields of frames in protobuf: a cursor whose reads are checked against limits and name the field in what they throw. */
import { MalformedMessage, messageFieldsMax, ProtoCursor, type StreamCredit, wireType } from '@millrace/protocol';
import { TextMemo } from '../protobuf/text-memo.ts';
import { checkFrameLength, type StreamFrameLimits, tooLarge } from './frame-limits.ts';
import { invalidFrame } from './frame-parts.ts';

export const varintTag = (field: number): number => field << 3;
export const delimitedTag = (field: number): number => (field << 3) | wireType.delimited;
export const uint32Max: number = 2 ** 32 - 1;

const noBytes = new Uint8Array(0);
/** A text must keep a byte order mark, which decoders take away by default. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class FieldCursor extends ProtoCursor {
  readonly limits: StreamFrameLimits;
  /** Elements that tensors of this frame may still list. */
  listedLeft = 0;
  /** Of names and datatypes only: other texts are rarely repeated, and some are secret. */
  readonly #names = new TextMemo();

  constructor(limits: StreamFrameLimits) {
    super(noBytes);
    this.limits = limits;
  }

  begin(bytes: Uint8Array): void {
    checkFrameLength(bytes, this.limits);
    this.reset(bytes);
    this.fieldsLeft = messageFieldsMax;
    this.listedLeft = this.limits.listedElementsMax;
  }

  /** The last frame may be large and must not be kept in memory until the next one. */
  release(): void {
    this.reset(noBytes);
  }

  /** Begins a nested message; returns where the one around it ends, which its reader sets again as `end`. */
  enter(): number {
    const stop = this.readLength();
    const outer = this.end;
    this.end = stop;
    return outer;
  }

  readNatural(field: string, max: number = Number.MAX_SAFE_INTEGER): number {
    const value = this.readUint64();
    if (value > max) throw invalidFrame(`${field} is above ${max}`);
    return value;
  }

  readInteger(field: string): number {
    const value = this.readInt64();
    if (!Number.isSafeInteger(value)) throw invalidFrame(`${field} is not between -2^53 and 2^53`);
    return value;
  }

  /** Adds the integers of a list, packed or one by one. */
  readIntegers(tag: number, into: number[], countMax: number, what: string): void {
    const isPacked = (tag & 7) === wireType.delimited;
    const stop = isPacked ? this.readLength() : this.at + 1;
    while (this.at < stop) {
      if (into.length === countMax) throw tooLarge(`${what} has more than ${countMax} numbers; send fewer`);
      into.push(this.readInt64());
      if (!isPacked) return;
    }
    if (this.at !== stop) throw new MalformedMessage(`${what} is longer than its length`);
  }

  readName(what: string): string {
    const stop = this.#textEnd(what, this.limits.nameBytesMax);
    const from = this.at;
    this.at = stop;
    try {
      return this.#names.read(this.bytes, from, stop);
    } catch {
      throw new MalformedMessage(`${what} is not UTF-8`);
    }
  }

  readText(what: string, bytesMax: number): string {
    const stop = this.#textEnd(what, bytesMax);
    const from = this.at;
    this.at = stop;
    try {
      return utf8.decode(this.bytes.subarray(from, stop));
    } catch {
      throw new MalformedMessage(`${what} is not UTF-8`);
    }
  }

  readCredit(): StreamCredit {
    const outer = this.enter();
    let messages = 0;
    let bytes = 0;
    for (let tag = this.nextTag(); tag !== 0; tag = this.nextTag()) {
      if (tag === varintTag(1)) messages = this.readNatural('credit.messages', uint32Max);
      else if (tag === varintTag(2)) bytes = this.readNatural('credit.bytes');
      else this.skip(tag);
    }
    this.end = outer;
    return { messages, bytes };
  }

  #textEnd(what: string, bytesMax: number): number {
    const stop = this.readLength();
    const bytes = stop - this.at;
    if (bytes > bytesMax) throw tooLarge(`${what} has ${bytes} bytes, more than the ${bytesMax} allowed; shorten it`);
    return stop;
  }
}

/** What no encoder writes, a message field that comes twice, is refused instead of merged. */
export function onlyOnce<Value>(before: Value | undefined, value: Value, field: string): Value {
  if (before === undefined) return value;
  throw new MalformedMessage(`${field} comes twice`);
}
