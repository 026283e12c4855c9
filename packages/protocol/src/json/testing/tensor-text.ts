/** Tensors to and from the text of their JSON, as the tests of reader and writer speak of them. */
import type { Datatype } from '../../datatypes.ts';
import { elementsOf } from '../../elements.ts';
import { InferenceError } from '../../errors.ts';
import { JsonReader } from '../reader.ts';
import { readTensorData } from '../tensor-reader.ts';
import { writeTensorData } from '../tensor-writer.ts';
import { JsonWriter } from '../writer.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The bytes of a tensor that stands as JSON; halves are accepted. */
export function read(datatype: Datatype, shape: number[], text: string): Uint8Array {
  const reader = new JsonReader(encoder.encode(text));
  const data = readTensorData(reader, { name: 'x', datatype, shape }, { acceptsHalfPrecision: true });
  reader.expectEnd();
  return data;
}

export function elements<T extends Datatype>(datatype: T, shape: number[], text: string) {
  return elementsOf({ datatype, data: read(datatype, shape, text) });
}

/** What is said of a tensor that must be refused. */
export function refusalOf(datatype: Datatype, shape: number[], text: string): string {
  try {
    read(datatype, shape, text);
  } catch (error) {
    if (error instanceof InferenceError && error.code === 'invalid-request') return error.message;
    throw error;
  }
  throw new Error(`accepted ${text}`);
}

export function write(datatype: Datatype, data: Uint8Array): string {
  const writer = new JsonWriter();
  writeTensorData(writer, { name: 'y', datatype, shape: [], data });
  return decoder.decode(writer.take());
}

export const arrayBytes = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
