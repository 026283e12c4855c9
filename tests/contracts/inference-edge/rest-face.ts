/** The Open Inference Protocol over REST, in its two forms: everything in JSON, or tensors as binary data behind it. */
import type { Tensor } from '@millrace/protocol';
import type { Form } from '../../support/inference-call.ts';
import { HttpCalls, type HttpQuestion, type HttpReply } from './http-calls.ts';
import { type FaceOutcome, type FaceRequest, type InferenceFace, refusalFrom } from './inference-face.ts';
import { exactTensor, type TensorValue, valuesIn } from './tensors.ts';

const headerLengthField = 'inference-header-content-length';

export function openRestFace(url: string, form: Form): InferenceFace {
  const calls = new HttpCalls(url, outcomeFrom);
  return {
    call: (request) => calls.call(questionFrom(request, form)),
    callUnread: (request) => calls.callUnread(questionFrom(request, form)),
    callMalformed: () => calls.call(malformed(form)).outcome,
    close: () => calls.close(),
  };
}

function questionFrom(request: FaceRequest, form: Form): HttpQuestion {
  const { model, version, timeoutMs, inputs } = request;
  const isBinary = form === 'binary';
  const tensors = inputs.map((input) => {
    const { name, datatype, shape, data } = input;
    const rest = isBinary
      ? `"parameters":{"binary_data_size":${data.length}}`
      : `"data":[${valuesIn(input).map(jsonText).join(',')}]`;
    return `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":${JSON.stringify(shape)},${rest}}`;
  });
  const outputs = request.outputs?.map(({ name, classes }) => ({
    name,
    parameters: { ...(classes === undefined ? {} : { classification: classes }), binary_data: isBinary },
  }));
  const members = [
    ...(request.id === undefined ? [] : [`"id":${JSON.stringify(request.id)}`]),
    `"parameters":${parametersText(request, isBinary)}`,
    `"inputs":[${tensors.join(',')}]`,
    ...(outputs === undefined ? [] : [`"outputs":${JSON.stringify(outputs)}`]),
  ];
  const json = Buffer.from(`{${members.join(',')}}`);
  const versionPath = version === undefined ? '' : `/versions/${version}`;
  return {
    path: `/v2/models/${model}${versionPath}/infer`,
    headers: {
      ...(isBinary
        ? { 'content-type': 'application/octet-stream', [headerLengthField]: String(json.length) }
        : { 'content-type': 'application/json' }),
      ...(timeoutMs === undefined ? {} : { 'millrace-timeout-ms': String(timeoutMs) }),
    },
    body: isBinary ? Buffer.concat([json, ...inputs.map(({ data }) => data)]) : json,
  };
}

function parametersText({ parameters, sequence, priority, queueTimeoutMs }: FaceRequest, isBinary: boolean): string {
  const written: Record<string, TensorValue | undefined> = {
    ...parameters,
    priority,
    timeout: queueTimeoutMs === undefined ? undefined : queueTimeoutMs * 1000,
    sequence_id: sequence?.id,
    sequence_start: sequence?.isStart,
    sequence_end: sequence?.isEnd,
    binary_data_output: isBinary ? true : undefined,
  };
  const members = Object.entries(written).flatMap(([key, value]) =>
    value === undefined ? [] : [`${JSON.stringify(key)}:${jsonText(value)}`],
  );
  return `{${members.join(',')}}`;
}

/** JSON with NaN and Infinity, which standard JSON does not have, as Triton writes them. */
function jsonText(value: TensorValue): string {
  if (value instanceof Uint8Array) return JSON.stringify(new TextDecoder('utf-8', { fatal: true }).decode(value));
  if (typeof value === 'string') return JSON.stringify(value);
  return Object.is(value, -0) ? '-0' : String(value);
}

function malformed(form: Form): HttpQuestion {
  const question = questionFrom({ model: 'arithmetic', inputs: [] }, form);
  return { ...question, body: question.body.subarray(0, question.body.length - 1) };
}

interface JsonAnswer {
  readonly model_name: string;
  readonly model_version: string;
  readonly id?: string;
  readonly error?: string;
  readonly outputs: readonly (Pick<Tensor, 'name' | 'datatype' | 'shape'> & {
    readonly data?: readonly (string | number | boolean)[];
    readonly parameters?: { readonly binary_data_size: number };
  })[];
}

function outcomeFrom({ status, headers, body }: HttpReply): FaceOutcome {
  let at = Number(headers[headerLengthField] ?? body.length);
  const json = JSON.parse(inPlainJson(body.toString('utf8', 0, at))) as JsonAnswer;
  if (status !== 200) return refusalFrom(String(headers['millrace-error-code']), String(json.error), 'http', status);
  const outputs = json.outputs.map(({ name, datatype, shape, data, parameters }) => {
    if (data !== undefined)
      return exactTensor(
        name,
        datatype,
        shape,
        data.map((value) => valueFrom(datatype, value)),
      );
    const from = at;
    at += parameters?.binary_data_size ?? 0;
    return { name, datatype, shape, data: Uint8Array.from(body.subarray(from, at)) };
  });
  if (at !== body.length) throw new Error(`the answer has ${body.length} bytes, but its outputs end at ${at}`);
  return { model: json.model_name, version: json.model_version, id: json.id ?? '', outputs };
}

/** Numbers that `JSON.parse` would refuse or round, as texts. */
function inPlainJson(text: string): string {
  // Large answers have none of them, and are searched quickly.
  if (!/NaN|Infinity|\d{16}/.test(text)) return text;
  return text.replace(/(?<=[[,])(-?\d{16,}|NaN|-?Infinity)(?=[,\]])/g, '"$1"');
}

function valueFrom(datatype: Tensor['datatype'], value: string | number | boolean): TensorValue {
  if (datatype === 'INT64' || datatype === 'UINT64') return BigInt(value);
  return datatype === 'BYTES' || typeof value === 'boolean' ? value : Number(value);
}
