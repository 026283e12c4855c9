/** Reads the tensors of an input in JSON: first their heads, then their data in slices. */
import {
  beginTensorData,
  continueTensorData,
  elementCount,
  JsonReader,
  type JsonSpan,
  type JsonTensorHeader,
  quote,
  shapeProblem,
  type Tensor,
} from '@millrace/protocol';
import { bytesInSlices } from '../repository/base64-file.ts';
import { nextSliceBytes, type SliceGenerator } from '../slices/slice-queue.ts';
import { type StreamFrameLimits, tooLarge } from './frame-limits.ts';
import { checkRawTensor, invalidFrame, tensorHeadFrom } from './frame-parts.ts';
import { readFields, readIntegerField, readListField } from './json-fields.ts';

interface PendingTensor {
  readonly name: string;
  readonly header: JsonTensorHeader;
  readonly raw: JsonSpan | undefined;
  readonly data: JsonSpan | undefined;
}

export class TensorJsonReader {
  readonly #limits: StreamFrameLimits;
  readonly #pending: PendingTensor[] = [];
  #elements = 0;

  constructor(limits: StreamFrameLimits) {
    this.#limits = limits;
  }

  /** Everything but the data, whose positions are kept. */
  readHeads(reader: JsonReader, path: string): void {
    const { tensorsMax } = this.#limits;
    readListField(reader, path, (index) => {
      if (index === tensorsMax) throw tooLarge(`a frame has more than ${tensorsMax} tensors; send fewer`);
      this.#pending.push(this.#head(reader, `${path}[${index}]`));
    });
  }

  *readData(bytes: Uint8Array, into: Tensor[]): SliceGenerator<void> {
    for (const { name, header, raw, data } of this.#pending) {
      if (data === undefined) {
        const content = raw === undefined ? new Uint8Array(0) : yield* bytesInSlices(name, bytes, raw);
        into.push(checkRawTensor({ ...header, data: content }));
        continue;
      }
      const reader = new JsonReader(bytes, data);
      const target = beginTensorData(reader, header, { acceptsHalfPrecision: true });
      let step = nextSliceBytes(0);
      for (; !continueTensorData(target, reader.position + step); step = nextSliceBytes(step)) yield;
      reader.expectEnd();
      into.push({ ...header, data: target.take() });
    }
  }

  #head(reader: JsonReader, path: string): PendingTensor {
    const { nameBytesMax, dimensionsMax, jsonElementsMax } = this.#limits;
    let name = '';
    let datatype = '';
    const shape: number[] = [];
    let raw: JsonSpan | undefined;
    let data: JsonSpan | undefined;
    readFields(reader, path, {
      name: () => {
        name = reader.readString(nameBytesMax, 'the name of a tensor');
      },
      datatype: () => {
        datatype = reader.readString(nameBytesMax, 'the datatype of a tensor');
      },
      shape: () =>
        readListField(reader, `${path}.shape`, (index) => {
          if (index === dimensionsMax) throw tooLarge(`a shape has more than ${dimensionsMax} dimensions`);
          shape.push(readIntegerField(reader, 0, Number.MAX_SAFE_INTEGER));
        }),
      raw: () => {
        raw = takeStringSpan(reader);
      },
      data: () => {
        if (reader.peekKind() !== 'array')
          throw invalidFrame(`it is of kind ${reader.peekKind()}; it must be an array`);
        data = reader.takeLong() ?? reader.takeSpan();
      },
    });
    const head = tensorHeadFrom(name, datatype, this.#pending);
    if (raw !== undefined && data !== undefined)
      throw invalidFrame(`tensor ${quote(name)} has both raw and data; send one of them`);
    const problem = shapeProblem(shape);
    if (problem !== undefined) throw invalidFrame(`tensor ${quote(name)}: ${problem}`);
    if (data !== undefined) this.#elements += elementCount(shape);
    if (this.#elements > jsonElementsMax) {
      throw tooLarge(`the tensors of a frame list more than ${jsonElementsMax} elements; send them as raw`);
    }
    return { name, header: { ...head, shape }, raw, data };
  }
}

/** The position of a string that is read later. */
export function takeStringSpan(reader: JsonReader): JsonSpan {
  if (reader.peekKind() !== 'string')
    throw invalidFrame(`it is of kind ${reader.peekKind()}; it must be base64 in a string`);
  return reader.takeLong() ?? reader.takeSpan();
}
