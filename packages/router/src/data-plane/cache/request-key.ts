/**
 * The name under which a result is kept: a SHA-256 of everything that can change the answer. Two requests with one key
 * are the same request: nobody can make two different ones that share it, so nothing is compared on a hit.
 */
import { createHash, type Hash } from 'node:crypto';
import type { Tensor } from '@millrace/protocol';
import type { Parameters, ParameterValue } from '../infer.ts';
import type { ValidInferRequest } from '../valid-request.ts';

/** Up to here inputs are hashed at once: about a millisecond. */
export const hashSliceBytesMax: number = 1024 * 1024;

/**
 * `revision` names one load of one model version, so it stands for the names and datatypes of its tensors as well: a
 * valid request has the model's. The head is JSON and so ends where it says; it has the length of all that follows.
 */
export function requestKeyFrom(request: ValidInferRequest, revision: number, isShared: boolean): string {
  const hash = headHash(request, revision, isShared);
  for (const input of request.inputs) if (input !== undefined) hash.update(input.data);
  return hash.digest('base64');
}

/** The same in slices; the inputs must stay as they are until it is done. */
export function* requestKeySlices(
  request: ValidInferRequest,
  revision: number,
  isShared: boolean,
): Generator<void, string> {
  const hash = headHash(request, revision, isShared);
  for (const input of request.inputs) {
    const data = input?.data ?? noBytes;
    for (let at = 0; at < data.length; at += hashSliceBytesMax) {
      hash.update(data.subarray(at, at + hashSliceBytesMax));
      yield;
    }
  }
  return hash.digest('base64');
}

const noBytes = new Uint8Array(0);

function headHash(request: ValidInferRequest, revision: number, isShared: boolean): Hash {
  const head = JSON.stringify([
    revision,
    isShared ? null : request.caller,
    request.outputs,
    writtenParameters(request.parameters),
    request.inputs.map(writtenInput),
  ]);
  return createHash('sha256').update(head);
}

function writtenInput(tensor: Tensor | undefined): readonly unknown[] | null {
  return tensor === undefined ? null : [tensor.shape, tensor.data.byteLength];
}

/** In the order of their names: the order in which they were sent means nothing. */
function writtenParameters(parameters: Parameters): readonly unknown[] {
  if (parameters.size === 0) return [];
  return [...parameters].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, ...writtenValue(value)]);
}

/** With its type: the number 1, the integer 1 and the text '1' are three values, and JSON knows neither NaN nor -0. */
function writtenValue(value: ParameterValue): readonly [string, string] {
  return [typeof value, Object.is(value, -0) ? '-0' : String(value)];
}
