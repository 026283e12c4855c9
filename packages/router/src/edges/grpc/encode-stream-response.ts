/** A ModelStreamInferResponse in protobuf's binary form: the answer as ModelInfer writes it, in a frame. */
import { varint } from '@millrace/protocol';
import { delimitedFieldBytes, ProtoWriter, utf8LengthOf, varintBytes } from '../protobuf/proto-writer.ts';
import { encodeResponse, type InferResponse } from './encode-response.ts';

/** The outcome of one request of a stream. */
export interface StreamResponse {
  /** Empty when it was answered. */
  readonly errorMessage: string;
  readonly response: InferResponse;
  /** It is the last answer to its request. */
  readonly isFinal: boolean;
  /** Of an answer of a durable stream; integers are written as `int64_param`. */
  readonly parameters?: Readonly<Record<string, string | number>>;
}

const errorMessageTag = 0x0a;
const inferResponseTag = 0x12;
const parametersTag = 0x22;
const keyTag = 0x0a;
const valueTag = 0x12;
const int64ParameterTag = 0x10;
const stringParameterTag = 0x1a;

/** `parameters { key: "triton_final_response" value { bool_param: true } }` */
const finalParameter = finalParameterBytes('triton_final_response', true);
const furtherParameter = finalParameterBytes('triton_final_response', false);

export function encodeStreamResponse(answer: StreamResponse): readonly Uint8Array[] {
  const { errorMessage, response, isFinal, parameters } = answer;
  const pieces =
    parameters === undefined
      ? encodeResponse(response)
      : [...encodeResponse(response), ...Object.entries(parameters).map(parameterBytes)];
  const parameter = isFinal ? finalParameter : furtherParameter;
  let bytes = parameter.length;
  for (const piece of pieces) bytes += piece.length;
  const error = Buffer.from(errorMessage);
  const head = error.length === 0 ? [] : [errorMessageTag, ...varint(error.length), ...error];
  return [Buffer.from([...head, inferResponseTag, ...varint(bytes)]), ...pieces, parameter];
}

function parameterBytes([key, value]: readonly [string, string | number]): Uint8Array {
  const valueBytes = typeof value === 'string' ? delimitedFieldBytes(utf8LengthOf(value)) : 1 + varintBytes(value);
  const bytes = delimitedFieldBytes(utf8LengthOf(key)) + delimitedFieldBytes(valueBytes);
  const writer = new ProtoWriter(delimitedFieldBytes(bytes));
  writer.prefix(parametersTag, bytes);
  writer.presentText(keyTag, key);
  writer.prefix(valueTag, valueBytes);
  if (typeof value === 'string') writer.presentText(stringParameterTag, value);
  else writer.presentNumber(int64ParameterTag, value);
  return writer.cut();
}

function finalParameterBytes(key: string, isFinal: boolean): Uint8Array {
  // A member of a oneof is written also where it is false.
  const parameter = [0x08, isFinal ? 0x01 : 0x00];
  const entry = [0x0a, key.length, ...Buffer.from(key), 0x12, parameter.length, ...parameter];
  return Buffer.from([parametersTag, entry.length, ...entry]);
}
