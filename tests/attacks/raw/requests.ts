/** Requests that several attacks send. */
import { growModel, slowModel } from '../attack-models.ts';
import type { Target } from '../target.ts';
import { rawJsonRequest } from './http1.ts';
import { envelope, inferMessage } from './infer-message.ts';

export const inferPath = (model: string): string => `/v2/models/${model}/infer`;

/** A small request whose answer has this many bytes. */
export function growJson(bytes: number): string {
  return JSON.stringify({
    inputs: [{ name: 'count', datatype: 'INT64', shape: [1], data: [Math.floor(bytes / 4)] }],
    outputs: [{ name: 'y', parameters: { binary_data: true } }],
  });
}

export const growRequest = (target: Target, bytes: number): Buffer =>
  rawJsonRequest(target, inferPath(growModel), growJson(bytes));

export function growMessage(bytes: number): Buffer {
  return envelope(
    inferMessage({
      model: growModel,
      inputs: [{ name: 'count', datatype: 'INT64', shape: [1] }],
      raw: [new Uint8Array(BigInt64Array.of(BigInt(Math.floor(bytes / 4))).buffer)],
    }),
  );
}

export function slowMessage(steps: number): Buffer {
  return envelope(
    inferMessage({
      model: slowModel,
      inputs: [{ name: 'steps', datatype: 'INT64', shape: [1] }],
      raw: [new Uint8Array(BigInt64Array.of(BigInt(steps)).buffer)],
    }),
  );
}
