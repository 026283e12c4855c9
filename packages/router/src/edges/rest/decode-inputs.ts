/** Reads the `inputs` of a request. What can only be known once all of the JSON is read is left as `PendingInput`. */
import {
  type Datatype,
  InferenceError,
  isDatatype,
  type JsonReader,
  type JsonSpan,
  readTensorData,
  shapeProblem,
  type Tensor,
  tensorProblem,
} from '@millrace/protocol';
import type { BinaryTail } from './binary-tail.ts';
import { readParameters, refuseSharedMemory, takeNatural } from './parameters.ts';

export interface InputLimits {
  readonly inputsMax: number;
  readonly dimensionsMax: number;
}

/** An input whose tensor lies in its JSON, or in the bytes behind all of the JSON. */
export type PendingInput =
  | { readonly tensor: Tensor }
  | { readonly tensor: undefined; readonly head: InputHead; readonly sizeBytes: number };

interface InputHead {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

export function readInputs(reader: JsonReader, limits: InputLimits): PendingInput[] {
  const inputs: PendingInput[] = [];
  const names = new Set<string>();
  reader.beginArray();
  while (reader.nextElement()) {
    if (inputs.length === limits.inputsMax) {
      throw new InferenceError('request-too-large', `the request has more than ${limits.inputsMax} inputs`);
    }
    const input = readInput(reader, inputs.length, limits);
    const { name } = input.tensor ?? input.head;
    if (names.has(name)) throw invalid(`input '${name}' already exists in request`);
    names.add(name);
    inputs.push(input);
  }
  return inputs;
}

/** The tensors in the order of the inputs; binary ones are views of the tail. */
export function resolveInputs(inputs: readonly PendingInput[], tail: BinaryTail): Tensor[] {
  const tensors: Tensor[] = [];
  for (const input of inputs) {
    if (input.tensor !== undefined) {
      tensors.push(input.tensor);
      continue;
    }
    const { name, datatype, shape } = input.head;
    const data = tail.take(input.sizeBytes, name);
    const problem = tensorProblem(datatype, shape, data);
    if (problem !== undefined) throw invalid(`input byte size mismatch for input '${name}': ${problem}`);
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
  let data: Uint8Array | undefined;
  let sizeBytes: number | undefined;
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'name') name = reader.readString();
    else if (key === 'datatype') datatype = datatypeFrom(reader.readString(), name ?? `#${index}`);
    else if (key === 'shape') shape = readShape(reader, name ?? `#${index}`, limits.dimensionsMax);
    else if (key === 'parameters') {
      const where = `input '${name ?? `#${index}`}': `;
      const parameters = readParameters(reader, where);
      refuseSharedMemory(parameters, `the data of input '${name ?? `#${index}`}'`);
      sizeBytes = takeNatural(parameters, 'binary_data_size', 0, where);
    } else if (key === 'data') {
      // Clients put the data last; then its elements go straight to where they belong, in one pass.
      if (name === undefined || datatype === undefined || shape === undefined) span = reader.takeSpan();
      else data = readTensorData(reader, { name, datatype, shape });
    } else reader.skipValue();
  }
  const head = headFrom(name, datatype, shape, index);
  if (((span ?? data) !== undefined) === (sizeBytes !== undefined)) {
    throw invalid(
      `Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', ` +
        `'shared_memory_region' in 'parameters'; input '${head.name}' sets ${sizeBytes === undefined ? 'none' : 'two'}`,
    );
  }
  if (sizeBytes !== undefined) return { tensor: undefined, head, sizeBytes };
  if (span !== undefined) {
    const spanned = reader.readerOf(span);
    data = readTensorData(spanned, head);
    spanned.expectEnd();
  }
  return { tensor: { ...head, data: data as Uint8Array } };
}

function headFrom(
  name: string | undefined,
  datatype: Datatype | undefined,
  shape: readonly number[] | undefined,
  index: number,
): InputHead {
  if (name === undefined || name === '') throw invalid(`input #${index} has no 'name'`);
  if (datatype === undefined) throw invalid(`input '${name}' has no 'datatype'`);
  if (shape === undefined) throw invalid(`input '${name}' has no 'shape'`);
  return { name, datatype, shape };
}

function datatypeFrom(text: string, input: string): Datatype {
  if (isDatatype(text)) return text;
  throw invalid(`invalid datatype '${text}' for input '${input}'; the datatypes are BOOL, UINT8 … FP64 and BYTES`);
}

function readShape(reader: JsonReader, input: string, dimensionsMax: number): number[] {
  const shape: number[] = [];
  reader.beginArray();
  while (reader.nextElement()) {
    if (shape.length === dimensionsMax)
      throw invalid(`the shape of input '${input}' has more than ${dimensionsMax} dimensions`);
    const dimension = reader.readNumber();
    if (typeof dimension === 'bigint') throw invalid(`dimension ${shape.length} of input '${input}' is too large`);
    shape.push(dimension);
  }
  const problem = shapeProblem(shape);
  if (problem !== undefined) throw invalid(`input '${input}': ${problem}`);
  return shape;
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
