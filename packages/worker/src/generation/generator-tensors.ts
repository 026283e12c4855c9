/** The inputs and outputs of every generator: text in, tokens and their text out. */
import { encodeBytesElements, InferenceError, type JsonObject, parseJson, takeBytesElements } from '@millrace/protocol';
import type { GeneratedToken } from './generation.ts';

const text = new TextDecoder('utf-8', { fatal: true });

/** The one element of a BYTES tensor as text. */
export function textFrom(name: string, data: Uint8Array): string {
  const [element, ...others] = takeBytesElements(data) ?? [];
  if (element === undefined || others.length > 0) {
    throw new InferenceError('invalid-request', `input ${name} must have one element`);
  }
  try {
    return text.decode(element);
  } catch (error) {
    throw new InferenceError('invalid-request', `input ${name} is not valid UTF-8; send text`, { cause: error });
  }
}

/** The JSON object in a BYTES tensor. */
export function parametersFrom(name: string, data: Uint8Array): JsonObject {
  const json = textFrom(name, data);
  let value: unknown;
  try {
    value = parseJson(Buffer.from(json));
  } catch (error) {
    throw new InferenceError('invalid-request', `input ${name} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InferenceError('invalid-request', `input ${name} must be a JSON object such as {"max_tokens": 64}`);
  }
  return value as JsonObject;
}

/** The bytes of an answer's outputs, by name; each has one element. */
export const generatorOutputs: Readonly<Record<string, (token: GeneratedToken) => Uint8Array>> = {
  text_output: ({ text: added }) => encodeBytesElements([added]),
  token: ({ token }) => new Uint8Array(BigInt64Array.of(BigInt(token)).buffer),
  finish_reason: ({ finishReason }) => encodeBytesElements([finishReason ?? '']),
  prompt_tokens: ({ promptTokens }) => new Uint8Array(Int32Array.of(promptTokens).buffer),
  output_tokens: ({ outputTokens }) => new Uint8Array(Int32Array.of(outputTokens).buffer),
};
