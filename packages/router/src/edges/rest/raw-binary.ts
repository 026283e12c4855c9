/** A request that consists of the bytes of its only input: everything else is taken from the model. */
import { type Datatype, datatypes, encodeBytesElements, InferenceError, quote, type Tensor } from '@millrace/protocol';
import type { ModelView } from '../../model/model-view.ts';

export function rawBinaryInput(view: ModelView, body: Uint8Array): Tensor {
  // Optional inputs are left out.
  const inputs = view.inputs.filter(({ isOptional }) => isOptional !== true);
  const [input] = inputs;
  if (inputs.length !== 1 || input === undefined) {
    throw refusal(view, `it needs ${inputs.length} inputs, but a raw binary request carries exactly one`);
  }
  const { name, datatype } = input;
  // The whole request is one row.
  const shape = view.isBatched ? [1, ...input.shape.slice(1)] : [...input.shape];
  if (datatype === 'BYTES') return bytesInput(view, name, shape, body);
  const free = shape.indexOf(-1);
  if (free >= 0) {
    if (shape.indexOf(-1, free + 1) >= 0) {
      throw refusal(
        view,
        `input ${quote(name)} has more than one free dimension, which the bytes alone do not determine`,
      );
    }
    shape[free] = freeDimension(view, name, shape, datatype, body.byteLength);
  }
  const sizeBytes = shape.reduce((count, dimension) => count * dimension, datatypes[datatype].bytes);
  if (sizeBytes !== body.byteLength) {
    throw refusal(view, `input ${quote(name)} takes ${sizeBytes} bytes, but the body has ${body.byteLength}`);
  }
  return { name, datatype, shape, data: body };
}

/** One element: the body. Its length is put before it, as in the data of BYTES. */
function bytesInput(view: ModelView, name: string, shape: number[], body: Uint8Array): Tensor {
  const ones = shape.map((dimension) => (dimension === -1 ? 1 : dimension));
  if (ones.some((dimension) => dimension !== 1)) {
    throw refusal(view, `BYTES input ${quote(name)} has more than one element, but a raw binary request carries one`);
  }
  return { name, datatype: 'BYTES', shape: ones, data: encodeBytesElements([body]) };
}

function freeDimension(
  view: ModelView,
  name: string,
  shape: readonly number[],
  datatype: Exclude<Datatype, 'BYTES'>,
  bodyBytes: number,
): number {
  const stepBytes = shape.reduce(
    (count, dimension) => count * (dimension === -1 ? 1 : dimension),
    datatypes[datatype].bytes,
  );
  if (stepBytes === 0 || bodyBytes % stepBytes !== 0) {
    throw refusal(
      view,
      `the ${bodyBytes} bytes of the body are not a multiple of the ${stepBytes} that input ${quote(name)} takes`,
    );
  }
  return bodyBytes / stepBytes;
}

function refusal(view: ModelView, reason: string): InferenceError {
  return new InferenceError('invalid-request', `raw binary request for model ${quote(view.name)}: ${reason}`);
}
