/**
 * Tensor data through JSON, each case beside what a program would do without these codecs. Budgets, as ratios of the
 * pair: a request of 64 floats at most 1.0, an image of 150,528 floats at most 0.8, an answer of either size at most
 * 0.7.
 *
 *     npx tsc -b && npx vitest bench --run --project unit packages/protocol/src
 */
import { bench, describe } from 'vitest';
import type { Datatype } from '../datatypes.ts';
import type * as Protocol from '../index.ts';
import type { Tensor } from '../tensor.ts';
import type { JsonReader, JsonSpan } from './reader.ts';

// The built package, loaded by Node itself: the test runner turns each use of an import into a call of a getter, which
// in these loops costs more than the work. It leaves data: modules alone.
const builtUrl = new URL('../../dist/index.js', import.meta.url).href;
const built = (await import(`data:text/javascript,export * from ${JSON.stringify(builtUrl)}`)) as typeof Protocol;
const { readTensorData, writeTensorData } = built;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Floats like those of a picture or an embedding: all different, none of them round. */
const image = Float32Array.from({ length: 150_528 }, (_, index) => Math.sin(index + 1) * 2.5);
const row = image.subarray(0, 64);

interface PlainRequest {
  inputs: { name: string; datatype: string; shape: number[]; data: number[] }[];
}

function requestOf(floats: Float32Array): Uint8Array {
  const input = { name: 'input', shape: [1, floats.length], datatype: 'FP32', data: Array.from(floats) };
  return encoder.encode(JSON.stringify({ id: 'request 1', inputs: [input], outputs: [{ name: 'output' }] }));
}

function decodeRequest(bytes: Uint8Array): Tensor[] {
  const reader = new built.JsonReader(bytes);
  const inputs: Tensor[] = [];
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key !== 'inputs') reader.skipValue();
    else {
      reader.beginArray();
      while (reader.nextElement()) inputs.push(decodeInput(reader));
    }
  }
  reader.expectEnd();
  return inputs;
}

function decodeInput(reader: JsonReader): Tensor {
  let name = '';
  let datatype: Datatype | undefined;
  let shape: number[] | undefined;
  let data: Uint8Array | undefined;
  let span: JsonSpan | undefined;
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'name') name = reader.readString();
    else if (key === 'datatype') datatype = reader.readString() as Datatype;
    else if (key === 'shape') {
      shape = [];
      reader.beginArray();
      while (reader.nextElement()) shape.push(Number(reader.readNumber()));
    } else if (key !== 'data') reader.skipValue();
    else if (datatype === undefined || shape === undefined) span = reader.takeSpan();
    else data = readTensorData(reader, { name, datatype, shape });
  }
  if (datatype === undefined || shape === undefined) throw new Error('the input is incomplete');
  if (span !== undefined) data = readTensorData(reader.readerOf(span), { name, datatype, shape });
  return { name, datatype, shape, data: data ?? new Uint8Array(0) };
}

function decodePlainly(bytes: Uint8Array): unknown[] {
  const request = JSON.parse(decoder.decode(bytes)) as PlainRequest;
  return request.inputs.map(({ name, datatype, shape, data }) => {
    const floats = Float32Array.from(data);
    return { name, datatype, shape, data: new Uint8Array(floats.buffer) };
  });
}

for (const [name, floats] of [
  ['64 floats', row],
  ['150,528 floats', image],
] as const) {
  const bytes = requestOf(floats);
  const rows = Array.from({ length: floats.length / 4 }, (_, index) =>
    Array.from(floats.subarray(4 * index, 4 * index + 4)),
  );
  const nestedInput = { name: 'input', shape: [rows.length, 4], datatype: 'FP32', data: rows };
  const nested = encoder.encode(JSON.stringify({ inputs: [nestedInput] }));
  const dataFirst = encoder.encode(
    `{"inputs":[{"data":[${Array.from(floats).join()}],"name":"input","shape":[1,${floats.length}],"datatype":"FP32"}]}`,
  );
  describe(`decode a request of ${name}`, () => {
    bench('straight into the tensor', () => void decodeRequest(bytes));
    bench('the same, nested in rows of 4', () => void decodeRequest(nested));
    bench('the same, data before shape and datatype', () => void decodeRequest(dataFirst));
    bench('JSON.parse, then copy', () => void decodePlainly(bytes));
  });

  const data = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
  const tensor: Tensor = { name: 'output', datatype: 'FP32', shape: [1, floats.length], data };
  const writer = new built.JsonWriter();
  describe(`encode ${name}`, () => {
    bench('straight from the tensor', () => {
      writeTensorData(writer, tensor);
      writer.take();
    });
    bench('copy, then JSON.stringify', () => void encoder.encode(JSON.stringify(Array.from(floats))));
  });
}
