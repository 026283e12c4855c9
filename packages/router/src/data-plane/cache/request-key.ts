/**
 * The key under which a result is cached: a SHA-256 of everything that can change the answer. Two requests with the same
 * key are the same request: nobody can construct a collision, so nothing is compared on a hit.
 */
import { createHash, type Hash } from 'node:crypto';
import type { Tensor } from '@millrace/protocol';
import type { Parameters, ParameterValue } from '../infer.ts';
import type { ValidInferRequest } from '../valid-request.ts';

/** Inputs up to this size are hashed in one go: about a millisecond. */
export const hashSliceBytesMax: number = 1024 * 1024;

/**
 * `revision` names one load of one model version, so it also covers the names and datatypes of its tensors: a
 * valid request has the model's. The head is JSON, so its end is unambiguous, and it has the length of all that follows.
 */
export function requestKeyFrom(request: ValidInferRequest, revision: number, isShared: boolean): string {
  const hash = headHash(request, revision, isShared);
  for (const input of request.inputs) if (input !== undefined) hash.update(input.data);
  return hash.digest('base64');
}

/** The same in slices; the inputs must not change until it is done. */
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

/** Sorted by name, because the order in which they were sent has no meaning. */
function writtenParameters(parameters: Parameters): readonly unknown[] {
  if (parameters.size === 0) return [];
  return [...parameters].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, ...writtenValue(value)]);
}

/** With its type: the number 1, the integer 1 and the text '1' are three values, and JSON has neither NaN nor -0. */
function writtenValue(value: ParameterValue): readonly [string, string] {
  return [typeof value, Object.is(value, -0) ? '-0' : String(value)];
}
