/** The body of an inference request and of its answer: JSON, then the data of the tensors in their order. */
import { isDatatype, type Tensor } from '@millrace/protocol';
import { unreadableAnswer } from '../../errors/millrace-error.ts';
import type { InferCall, InferReply } from '../transport.ts';

export const jsonLengthField = 'inference-header-content-length';

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

/** `timeoutMs` of Infinity is not sent. */
export function encodeInferBody(
  call: InferCall,
  timeoutMs: number,
): { body: Uint8Array<ArrayBuffer>; jsonBytes: number } {
  const { inputs, outputs, parameters } = call;
  const timeout = Number.isFinite(timeoutMs) ? { millrace_timeout_ms: Math.max(1, Math.ceil(timeoutMs)) } : {};
  const head = encoder.encode(
    jsonOf({
      inputs: inputs.map(({ name, datatype, shape, data }) => {
        return { name, datatype, shape, parameters: { binary_data_size: data.length } };
      }),
      ...(outputs.length === 0 ? {} : { outputs: outputs.map((name) => ({ name })) }),
      parameters: { ...parameters, binary_data_output: true, ...timeout },
    }),
  );
  const body = new Uint8Array(inputs.reduce((bytes, { data }) => bytes + data.length, head.length));
  body.set(head);
  let at = head.length;
  for (const { data } of inputs) {
    body.set(data, at);
    at += data.length;
  }
  return { body, jsonBytes: head.length };
}

/** 64-bit integers among the parameters have no form of their own in `JSON.stringify`. */
function jsonOf(value: unknown): string {
  const mark = '\u0000bigint:';
  const text = JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? `${mark}${one}` : one));
  return text.replaceAll(/"\\u0000bigint:(-?\d+)"/g, '$1');
}

interface OutputHead {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly parameters?: { readonly binary_data_size?: number };
}

/** Outputs are views of the body. Without a length all of it is JSON, and there were no outputs. */
export function inferReplyFrom(body: ArrayBuffer, headLength: string | null): InferReply {
  const jsonBytes = headLength === null ? body.byteLength : Number(headLength);
  if (!(jsonBytes >= 0 && jsonBytes <= body.byteLength)) {
    throw unreadableAnswer(`${jsonLengthField} is ${headLength}, but the body has ${body.byteLength} bytes`);
  }
  const head = JSON.parse(decoder.decode(new Uint8Array(body, 0, jsonBytes))) as {
    readonly model_name: string;
    readonly model_version: string;
    readonly outputs: readonly OutputHead[];
  };
  let at = jsonBytes;
  const outputs = head.outputs.map(({ name, datatype, shape, parameters }): Tensor => {
    const bytes = parameters?.binary_data_size;
    if (!isDatatype(datatype)) throw unreadableAnswer(`output ${name} has the datatype ${datatype}`);
    if (bytes === undefined) throw unreadableAnswer(`output ${name} is not binary, which was asked for`);
    if (at + bytes > body.byteLength) throw unreadableAnswer(`output ${name} is cut off`);
    const data = new Uint8Array(body, at, bytes);
    at += bytes;
    return { name, datatype, shape, data };
  });
  return { model: head.model_name, version: head.model_version, outputs };
}
