/** Reads the tensors of frames in protobuf: raw ones as views of the message, others from the list of their elements. */
import {
  JsonReader,
  type JsonTensorHeader,
  type JsonValue,
  JsonWriter,
  quote,
  readTensorData,
  type Tensor,
  writeJsonValue,
} from '@millrace/protocol';
import { delimitedTag, type FieldCursor, onlyOnce, varintTag } from './field-cursor.ts';
import { tooLarge } from './frame-limits.ts';
import { checkRawTensor, invalidFrame, tensorHeadFrom } from './frame-parts.ts';
import { ValueReader } from './read-value.ts';

const noBytes = new Uint8Array(0);

export class TensorMessageReader {
  readonly #cursor: FieldCursor;
  readonly #values: ValueReader;

  constructor(cursor: FieldCursor) {
    this.#cursor = cursor;
    this.#values = new ValueReader(cursor);
  }

  /** Adds the tensor whose length comes next. */
  read(into: Tensor[]): void {
    const cursor = this.#cursor;
    const { tensorsMax, dimensionsMax } = cursor.limits;
    if (into.length === tensorsMax) throw tooLarge(`a frame has more than ${tensorsMax} tensors; send fewer`);
    const outer = cursor.enter();
    let name = '';
    let datatype = '';
    const shape: number[] = [];
    let raw: Uint8Array = noBytes;
    let list: JsonValue[] | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === delimitedTag(1)) name = cursor.readName('the name of a tensor');
      else if (tag === delimitedTag(2)) datatype = cursor.readName('the datatype of a tensor');
      else if (tag === delimitedTag(3) || tag === varintTag(3)) {
        cursor.readIntegers(tag, shape, dimensionsMax, 'the shape of a tensor');
      } else if (tag === delimitedTag(4)) raw = cursor.readBytes();
      else if (tag === delimitedTag(5)) list = onlyOnce(list, this.#list(), 'the data of a tensor');
      else cursor.skip(tag);
    }
    cursor.end = outer;
    const head = tensorHeadFrom(name, datatype, into);
    if (list === undefined) {
      into.push(checkRawTensor({ name, datatype: head.datatype, shape, data: raw }));
      return;
    }
    if (raw.length > 0) throw invalidFrame(`tensor ${quote(name)} has both raw and data; send one of them`);
    into.push(tensorFromList({ ...head, shape }, list));
  }

  #list(): JsonValue[] {
    const cursor = this.#cursor;
    const list = this.#values.readList('the data of a tensor', cursor.listedLeft);
    cursor.listedLeft -= this.#values.elements;
    return list;
  }
}

/** By way of JSON, whose reader knows how elements of every datatype are written; such tensors are short. */
function tensorFromList(header: JsonTensorHeader, list: JsonValue[]): Tensor {
  const writer = new JsonWriter();
  writeJsonValue(writer, list);
  const data = readTensorData(new JsonReader(writer.take()), header, { acceptsHalfPrecision: true });
  return { ...header, data };
}
