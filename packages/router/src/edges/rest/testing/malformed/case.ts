import type { InjectedRequest } from '@millrace/http';

/** A request that must be refused before it reaches the data plane, with the status and part of the message. */
export type MalformedCase = readonly [name: string, request: InjectedRequest, status: number, message: string];

/** The limits the cases are written for. */
export const corpusLimits = {
  jsonBytesMax: 20_000,
  bodyBytesMax: 30_000,
  inputsMax: 4,
  outputsMax: 4,
  dimensionsMax: 8,
};

export const target = '/v2/models/m/infer';
type Fields = readonly (readonly [string, string])[];

export function postBody(body: string | Uint8Array, headers: Fields = []): InjectedRequest {
  return { method: 'POST', target, headers, body };
}

/** JSON in front, bytes behind, and an honest header length unless another is given. */
export function postBinary(
  json: string,
  tail: Uint8Array,
  headerLength = String(Buffer.byteLength(json)),
): InjectedRequest {
  return postBody(Buffer.concat([Buffer.from(json), tail]), [['inference-header-content-length', headerLength]]);
}

export const good = '{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}';
export const withInput = (input: string): InjectedRequest => postBody(`{"inputs":[${input}]}`);
export const withData = (datatype: string, shape: string, data: string): InjectedRequest =>
  withInput(`{"name":"x","datatype":"${datatype}","shape":${shape},"data":${data}}`);
export const withOutputs = (outputs: string): InjectedRequest => postBody(`{"inputs":[${good}],"outputs":${outputs}}`);
export const withOutput = (parameters: string): InjectedRequest =>
  withOutputs(`[{"name":"x","parameters":${parameters}}]`);
export const withParameters = (parameters: string): InjectedRequest =>
  postBody(`{"inputs":[${good}],"parameters":${parameters}}`);
export const binaryInput = (size: string, shape = '[2]', datatype = 'FP32'): string =>
  `{"inputs":[{"name":"x","datatype":"${datatype}","shape":${shape},"parameters":{"binary_data_size":${size}}}]}`;
export const zeros = (count: number): Uint8Array => new Uint8Array(count);
export const bytesElement = (length: number, present: number): Uint8Array => {
  const element = Buffer.alloc(4 + present);
  element.writeUInt32LE(length);
  return element;
};
