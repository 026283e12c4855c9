/** A ModelStreamInferResponse in protobuf's binary form: the answer as ModelInfer writes it, in a frame. */
import { varint } from '@millrace/protocol';
import { encodeResponse, type InferResponse } from './encode-response.ts';

/** What one request of a stream comes to. */
export interface StreamResponse {
  /** Empty when it was answered. */
  readonly errorMessage: string;
  readonly response: InferResponse;
}

const errorMessageTag = 0x0a;
const inferResponseTag = 0x12;
const parametersTag = 0x22;

/** `parameters { key: "triton_final_response" value { bool_param: true } }`: every request has one answer. */
const finalParameter = finalParameterBytes('triton_final_response');

export function encodeStreamResponse({ errorMessage, response }: StreamResponse): readonly Uint8Array[] {
  const pieces = encodeResponse(response);
  let bytes = finalParameter.length;
  for (const piece of pieces) bytes += piece.length;
  const error = Buffer.from(errorMessage);
  const head = error.length === 0 ? [] : [errorMessageTag, ...varint(error.length), ...error];
  return [Buffer.from([...head, inferResponseTag, ...varint(bytes)]), ...pieces, finalParameter];
}

function finalParameterBytes(key: string): Uint8Array {
  const trueParameter = [0x08, 0x01];
  const entry = [0x0a, key.length, ...Buffer.from(key), 0x12, trueParameter.length, ...trueParameter];
  return Buffer.from([parametersTag, entry.length, ...entry]);
}
