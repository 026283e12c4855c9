/** Typed contents (`InferTensorContents`) as the bytes of a tensor. */
import {
  bytesPrefixBytes,
  type Datatype,
  datatypes,
  elementsOf,
  type FixedSizeDatatype,
  InferenceError,
  MalformedMessage,
  ProtoCursor,
  quote,
  wireType,
} from '@millrace/protocol';
import { joinPieces } from '../slices/join-pieces.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';

/** Which field holds which datatypes; the first is the one that messages name. */
const fieldDatatypes: Readonly<Record<number, readonly Datatype[]>> = {
  1: ['BOOL'],
  2: ['INT32', 'INT16', 'INT8'],
  3: ['INT64'],
  4: ['UINT32', 'UINT16', 'UINT8'],
  5: ['UINT64'],
  6: ['FP32'],
  7: ['FP64'],
  8: ['BYTES'],
};

/** Where data comes from, for messages. */
export interface ContentsOf {
  readonly input: string;
  readonly model: string;
  readonly datatype: Datatype;
}

/** Fields or elements that are read between two pauses. */
const stepsPerSlice = 16 * 1024;
/** Bytes of texts that are copied between two pauses, not counting the last text. */
const copiedBytesMax = 1024 * 1024;

/** Throws an InferenceError when the contents are not of the input's datatype. In slices, because there may be many elements. */
export function* tensorDataFrom(contents: Uint8Array, of: ContentsOf): SliceGenerator<Uint8Array> {
  const field = yield* takeOnlyField(contents, of);
  if (field === 0) return new Uint8Array(0);
  if (field === 8) return yield* bytesElements(contents);
  if (field === 6) return yield* fixedElements(contents, field, 4);
  if (field === 7) return yield* fixedElements(contents, field, 8);
  return yield* integerElements(contents, field, of);
}

/** The one field that has elements, which must be the datatype's; 0 for none. */
function* takeOnlyField(contents: Uint8Array, { input, model, datatype }: ContentsOf): SliceGenerator<number> {
  const cursor = new ProtoCursor(contents);
  let only = 0;
  let steps = 0;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (++steps % stepsPerSlice === 0) yield;
    const field = tag >>> 3;
    const start = cursor.at;
    cursor.skip(tag);
    const isEmpty = field < 8 && (tag & 7) === wireType.delimited && cursor.at === start + 1;
    if (isEmpty || field === only || fieldDatatypes[field] === undefined) continue;
    const where = `unexpected explicit tensor data for input tensor ${quote(input)} for model ${quote(model)}`;
    if (only !== 0) throw new InferenceError('invalid-request', `${where}, binary data was already supplied.`);
    const datatypes = fieldDatatypes[field];
    if (!datatypes.includes(datatype)) {
      throw new InferenceError(
        'invalid-request',
        `${where} of type '${datatypes[0]}', expected datatype '${datatype}'`,
      );
    }
    only = field;
  }
  return only;
}

/** Packed floats have the layout of the tensor: a single packed field is passed on without a copy. */
function* fixedElements(contents: Uint8Array, field: number, size: 4 | 8): SliceGenerator<Uint8Array> {
  const cursor = new ProtoCursor(contents);
  const parts: Uint8Array[] = [];
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (parts.length % stepsPerSlice === stepsPerSlice - 1) yield;
    const start = cursor.at;
    if (tag === ((field << 3) | wireType.delimited)) {
      const part = cursor.readBytes();
      if (part.length % size !== 0) throw new MalformedMessage('a packed field ends in the middle of a number');
      parts.push(part);
    } else {
      cursor.skip(tag);
      if (tag === ((field << 3) | (size === 4 ? wireType.fixed32 : wireType.fixed64))) {
        parts.push(contents.subarray(start, cursor.at));
      }
    }
  }
  return yield* joinPieces(parts);
}

function* integerElements(contents: Uint8Array, field: number, of: ContentsOf): SliceGenerator<Uint8Array> {
  const cursor = new ProtoCursor(contents);
  // The field is of integers, so the datatype is.
  const datatype = of.datatype as FixedSizeDatatype;
  const count = yield* countVarints(cursor, field);
  const elements = elementsOf({ datatype, data: new Uint8Array(count * datatypes[datatype].bytes) });
  const isWide = elements instanceof BigInt64Array || elements instanceof BigUint64Array;
  let index = 0;
  cursor.reset(contents);
  const take = (): void => {
    cursor.readVarint();
    if (isWide) elements[index] = (BigInt(cursor.high) << 32n) | BigInt(cursor.low);
    else {
      const value =
        field === 1 ? Number(cursor.low !== 0 || cursor.high !== 0) : field === 2 ? cursor.low | 0 : cursor.low;
      elements[index] = value;
      if (elements[index] !== value) refuseRange(value, index, of);
    }
    index++;
  };
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === field << 3) {
      take();
      if (index % stepsPerSlice === 0) yield;
    } else if (tag === ((field << 3) | wireType.delimited)) {
      const stop = cursor.readLength();
      while (cursor.at < stop) {
        take();
        if (index % stepsPerSlice === 0) yield;
      }
    } else cursor.skip(tag);
  }
  return new Uint8Array(elements.buffer);
}

/** Counted first, so that the elements take the memory they need and no more. */
function* countVarints(cursor: ProtoCursor, field: number): SliceGenerator<number> {
  let count = 0;
  let steps = 0;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === field << 3) count++;
    if (++steps % stepsPerSlice === 0) yield;
    if (tag !== ((field << 3) | wireType.delimited)) {
      cursor.skip(tag);
      continue;
    }
    const stop = cursor.readLength();
    let last = 0;
    for (; cursor.at < stop; cursor.at++) {
      last = cursor.bytes[cursor.at] as number;
      if (last < 128) count++;
      if (++steps % (4 * stepsPerSlice) === 0) yield;
    }
    if (last >= 128) throw new MalformedMessage('a packed field ends in the middle of a number');
  }
  return count;
}

function refuseRange(value: number, index: number, { input, datatype }: ContentsOf): never {
  throw new InferenceError(
    'invalid-request',
    `element ${index} of input ${quote(input)} is ${value}, which ${datatype} cannot hold`,
  );
}

/** BYTES elements as in a tensor: each after its length. */
function* bytesElements(contents: Uint8Array): SliceGenerator<Uint8Array> {
  const cursor = new ProtoCursor(contents);
  const elementTag = (8 << 3) | wireType.delimited;
  let bytes = 0;
  let steps = 0;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (++steps % stepsPerSlice === 0) yield;
    if (tag !== elementTag) {
      cursor.skip(tag);
      continue;
    }
    const stop = cursor.readLength();
    bytes += bytesPrefixBytes + stop - cursor.at;
    cursor.at = stop;
  }
  const data = Buffer.allocUnsafe(bytes);
  cursor.reset(contents);
  let offset = 0;
  let copied = 0;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (++steps % stepsPerSlice === 0 || offset - copied > copiedBytesMax) {
      copied = offset;
      yield;
    }
    if (tag !== elementTag) {
      cursor.skip(tag);
      continue;
    }
    const stop = cursor.readLength();
    offset = data.writeUInt32LE(stop - cursor.at, offset);
    data.set(contents.subarray(cursor.at, stop), offset);
    offset += stop - cursor.at;
    cursor.at = stop;
  }
  return data;
}
