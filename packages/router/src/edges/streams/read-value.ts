/** Reads google.protobuf.Struct and ListValue, which clients write parameters and short tensors as. */
import { type JsonObject, type JsonValue, jsonDepthMax, MalformedMessage } from '@millrace/protocol';
import type { FieldCursor } from './field-cursor.ts';
import { tooLarge } from './frame-limits.ts';
import { invalidFrame } from './frame-parts.ts';

const fieldsTag = 0x0a;
const keyTag = 0x0a;
const valueTag = 0x12;
const valuesTag = 0x0a;
const nullValueTag = 0x08;
const numberValueTag = 0x11;
const stringValueTag = 0x1a;
const boolValueTag = 0x20;
const structValueTag = 0x2a;
const listValueTag = 0x32;

export class ValueReader {
  readonly #cursor: FieldCursor;
  #what = '';
  #keysMax = 0;
  #elementsMax = 0;
  #elements = 0;
  #depth = 0;
  #isTensor: boolean = false;

  constructor(cursor: FieldCursor) {
    this.#cursor = cursor;
  }

  /** Elements of the list that was read last, with those of the lists in it. */
  get elements(): number {
    return this.#elements;
  }

  /** The cursor is before the length of the message; `what` names it in messages. */
  readStruct(what: string, keysMax: number): JsonObject {
    this.#begin(what, keysMax, Number.POSITIVE_INFINITY);
    this.#isTensor = false;
    return this.#struct();
  }

  readList(what: string, elementsMax: number): JsonValue[] {
    // An element of BYTES may be an object of one key.
    this.#begin(what, 1, elementsMax);
    this.#isTensor = true;
    return this.#list();
  }

  #begin(what: string, keysMax: number, elementsMax: number): void {
    this.#what = what;
    this.#keysMax = keysMax;
    this.#elementsMax = elementsMax;
    this.#elements = 0;
    this.#depth = 0;
  }

  #struct(): JsonObject {
    this.#deepen();
    const cursor = this.#cursor;
    const outer = cursor.enter();
    const members = new Map<string, JsonValue>();
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag !== fieldsTag) {
        cursor.skip(tag);
        continue;
      }
      if (members.size === this.#keysMax) {
        throw tooLarge(`${this.#what} has more than ${this.#keysMax} keys; send fewer`);
      }
      this.#member(members);
    }
    cursor.end = outer;
    this.#depth -= 1;
    // Also a key named `__proto__` becomes an ordinary member.
    return Object.fromEntries(members);
  }

  #member(members: Map<string, JsonValue>): void {
    const cursor = this.#cursor;
    const outer = cursor.enter();
    let key = '';
    let value: JsonValue | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === keyTag) key = this.#cursor.readText('a key', this.#cursor.limits.nameBytesMax);
      else if (tag === valueTag) value = this.#value();
      else cursor.skip(tag);
    }
    cursor.end = outer;
    members.set(key, this.#mustHave(value));
  }

  #list(): JsonValue[] {
    this.#deepen();
    const cursor = this.#cursor;
    const outer = cursor.enter();
    const elements: JsonValue[] = [];
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag !== valuesTag) {
        cursor.skip(tag);
        continue;
      }
      this.#elements += 1;
      if (this.#elements > this.#elementsMax) {
        throw tooLarge(`${this.#what} has more than ${this.#elementsMax} elements; send fewer, or tensors as raw`);
      }
      elements.push(this.#mustHave(this.#value()));
    }
    cursor.end = outer;
    this.#depth -= 1;
    return elements;
  }

  #value(): JsonValue | undefined {
    const cursor = this.#cursor;
    const outer = cursor.enter();
    let value: JsonValue | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      switch (tag) {
        case nullValueTag:
          cursor.readVarint();
          value = null;
          break;
        case numberValueTag:
          value = this.#number(cursor.readDouble());
          break;
        case stringValueTag:
          value = cursor.readText('a value', Number.POSITIVE_INFINITY);
          break;
        case boolValueTag:
          value = cursor.readBool();
          break;
        case structValueTag:
          value = this.#struct();
          break;
        case listValueTag:
          value = this.#list();
          break;
        default:
          cursor.skip(tag);
      }
    }
    cursor.end = outer;
    return value;
  }

  /** A tensor may have NaN and infinities; JSON, which parameters become, has no such numbers. */
  #number(value: number): number {
    if (this.#isTensor || Number.isFinite(value)) return value;
    throw invalidFrame(`${this.#what} has the number ${value}; JSON cannot say it`);
  }

  #mustHave(value: JsonValue | undefined): JsonValue {
    if (value === undefined) throw new MalformedMessage(`a value of ${this.#what} is empty`);
    return value;
  }

  #deepen(): void {
    if (this.#depth === jsonDepthMax) throw invalidFrame(`${this.#what} is nested more than ${jsonDepthMax} deep`);
    this.#depth += 1;
  }
}
