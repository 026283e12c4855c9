/** A ModelStreamInferResponse in protobuf's binary form: the answer as ModelInfer writes it, in a frame. */
import { varint } from '@millrace/protocol';
import { encodeResponse, type InferResponse } from './encode-response.ts';

/** The outcome of one request of a stream. */
export interface StreamResponse {
  /** Empty when it was answered. */
  readonly errorMessage: string;
  readonly response: InferResponse;
  /** It is the last answer to its request. */
  readonly isFinal: boolean;
}

const errorMessageTag = 0x0a;
const inferResponseTag = 0x12;
const parametersTag = 0x22;

/** `parameters { key: "triton_final_response" value { bool_param: true } }` */
const finalParameter = finalParameterBytes('triton_final_response', true);
const furtherParameter = finalParameterBytes('triton_final_response', false);

export function encodeStreamResponse({ errorMessage, response, isFinal }: StreamResponse): readonly Uint8Array[] {
  const pieces = encodeResponse(response);
  const parameter = isFinal ? finalParameter : furtherParameter;
  let bytes = parameter.length;
  for (const piece of pieces) bytes += piece.length;
  const error = Buffer.from(errorMessage);
  const head = error.length === 0 ? [] : [errorMessageTag, ...varint(error.length), ...error];
  return [Buffer.from([...head, inferResponseTag, ...varint(bytes)]), ...pieces, parameter];
}

function finalParameterBytes(key: string, isFinal: boolean): Uint8Array {
  // A member of a oneof is written also where it is false.
  const parameter = [0x08, isFinal ? 0x01 : 0x00];
  const entry = [0x0a, key.length, ...Buffer.from(key), 0x12, parameter.length, ...parameter];
  return Buffer.from([parametersTag, entry.length, ...entry]);
}
