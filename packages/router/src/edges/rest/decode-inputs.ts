/** Reads the `inputs` of a request. An input that needs the rest of the JSON is returned as `PendingInput`. */
import assert from 'node:assert';
import {
  type Datatype,
  elementCount,
  InferenceError,
  type JsonReader,
  type JsonSpan,
  quote,
  readTensorData,
  shapeProblem,
  type Tensor,
  tensorProblem,
} from '@millrace/protocol';
import type { InputHead } from '../../data-plane/input-head.ts';
import { datatypeFrom } from '../datatype-from.ts';
import type { BinaryTail } from './binary-tail.ts';
import { readParameters, refuseSharedMemory, takeNatural } from './parameters.ts';

export interface InputLimits {
  readonly inputsMax: number;
  readonly dimensionsMax: number;
  /** Names of inputs, outputs and parameters, and the id, as they are written. */
  readonly nameBytesMax: number;
  /** Elements of all inputs together whose data is JSON. */
  readonly jsonElementsMax: number;
}

/** An input whose tensor was read from the JSON (where its data begins, if that came last), is still to be read from it, or is in the bytes after the JSON. */
export type PendingInput =
  | { readonly tensor: Tensor; readonly dataAt: number | undefined }
  | { readonly tensor: undefined; readonly head: InputHead; readonly span: JsonSpan }
  | { readonly tensor: undefined; readonly head: InputHead; readonly span: undefined; readonly sizeBytes: number };

export function readInputs(reader: JsonReader, limits: InputLimits): PendingInput[] {
  const inputs: PendingInput[] = [];
  const names = new Set<string>();
  let elements = 0;
  reader.beginArray();
  while (reader.nextElement()) {
    if (inputs.length === limits.inputsMax) {
      throw new InferenceError('request-too-large', `the request has more than ${limits.inputsMax} inputs; send fewer`);
    }
    const input = readInput(reader, inputs.length, limits);
    const { name, shape } = input.tensor ?? input.head;
    if (names.has(name)) throw invalid(`input ${quote(name)} already exists in request`);
    names.add(name);
    inputs.push(input);
    if (input.tensor === undefined && input.span === undefined) continue;
    elements += elementCount(shape);
    if (elements > limits.jsonElementsMax) throw tooManyElements(limits.jsonElementsMax);
  }
  return inputs;
}

function tooManyElements(jsonElementsMax: number): InferenceError {
  return new InferenceError(
    'request-too-large',
    `the inputs of the request have more than ${jsonElementsMax} elements as JSON; send tensors as binary data, or raise http.jsonElementsMax`,
  );
}

/** The tensors in the order of the inputs; binary ones are views of the tail. */
export function resolveInputs(inputs: readonly PendingInput[], tail: BinaryTail): Tensor[] {
  const tensors: Tensor[] = [];
  for (const input of inputs) {
    if (input.tensor !== undefined) {
      tensors.push(input.tensor);
      continue;
    }
    assert(input.span === undefined, 'every span has been read');
    const { name, datatype, shape } = input.head;
    const data = tail.take(input.sizeBytes, name);
    const problem = tensorProblem(datatype, shape, data);
    if (problem !== undefined) throw invalid(`input byte size mismatch for input ${quote(name)}: ${problem}`);
    tensors.push({ name, datatype, shape, data });
  }
  tail.expectEnd();
  return tensors;
}

function readInput(reader: JsonReader, index: number, limits: InputLimits): PendingInput {
  let name: string | undefined;
  let datatype: Datatype | undefined;
  let shape: number[] | undefined;
  let span: JsonSpan | undefined;
  let long: JsonSpan | undefined;
  let data: Uint8Array | undefined;
  let dataAt: number | undefined;
  let sizeBytes: number | undefined;
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'name') name = reader.readString(limits.nameBytesMax, 'the name of an input');
    else if (key === 'datatype') datatype = readDatatype(reader, name, index, limits);
    else if (key === 'shape') shape = readShape(reader, name, index, limits.dimensionsMax);
    else if (key === 'parameters') {
      const where = `input ${shownName(name, index)}: `;
      const parameters = readParameters(reader, where);
      refuseSharedMemory(parameters, `the data of input ${shownName(name, index)}`);
      sizeBytes = takeNatural(parameters, 'binary_data_size', 0, where);
    } else if (key === 'data') {
      long = reader.takeLong();
      if (long !== undefined) continue;
      // Clients put the data last; then its elements are written directly into the tensor, in one pass.
      if (name === undefined || datatype === undefined || shape === undefined) span = reader.takeSpan();
      else {
        dataAt = reader.position;
        data = readTensorData(reader, { name, datatype, shape });
      }
    } else reader.skipValue();
  }
  const head = headFrom(name, datatype, shape, index);
  if (((long ?? span ?? data) !== undefined) === (sizeBytes !== undefined)) {
    throw invalid(
      `Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', ` +
        `'shared_memory_region' in 'parameters'; input ${quote(head.name)} sets ${sizeBytes === undefined ? 'none' : 'two'}`,
    );
  }
  if (sizeBytes !== undefined) return { tensor: undefined, head, span: undefined, sizeBytes };
  if (long !== undefined) return { tensor: undefined, head, span: long };
  if (span !== undefined) {
    const spanned = reader.readerOf(span);
    data = readTensorData(spanned, head);
    spanned.expectEnd();
  }
  return { tensor: { ...head, data: data as Uint8Array }, dataAt };
}

function shownName(name: string | undefined, index: number): string {
  return quote(name ?? `#${index}`);
}

function headFrom(
  name: string | undefined,
  datatype: Datatype | undefined,
  shape: readonly number[] | undefined,
  index: number,
): InputHead {
  if (name === undefined || name === '') throw invalid(`input #${index} has no 'name'`);
  if (datatype === undefined) throw invalid(`input ${quote(name)} has no 'datatype'`);
  if (shape === undefined) throw invalid(`input ${quote(name)} has no 'shape'`);
  return { name, datatype, shape };
}

function readDatatype(reader: JsonReader, name: string | undefined, index: number, limits: InputLimits): Datatype {
  return datatypeFrom(reader.readString(limits.nameBytesMax, 'the datatype of an input'), name ?? `#${index}`);
}

function readShape(reader: JsonReader, name: string | undefined, index: number, dimensionsMax: number): number[] {
  const shape: number[] = [];
  reader.beginArray();
  while (reader.nextElement()) {
    if (shape.length === dimensionsMax)
      throw invalid(`the shape of input ${shownName(name, index)} has more than ${dimensionsMax} dimensions`);
    const dimension = reader.readNumber();
    if (typeof dimension === 'bigint')
      throw invalid(`dimension ${shape.length} of input ${shownName(name, index)} is too large`);
    shape.push(dimension);
  }
  const problem = shapeProblem(shape);
  if (problem !== undefined) throw invalid(`input ${shownName(name, index)}: ${problem}`);
  return shape;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
