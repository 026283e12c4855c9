/** The REST protocol from the caller's side, written for tests: a JSON or binary request, and its answer as values. */
import {
  bf16From,
  type Datatype,
  datatypes,
  elementsOf,
  encodeBytesElements,
  fp16From,
  numberFromBf16,
  numberFromFp16,
  takeBytesElements,
} from '@millrace/protocol';
import type { Element, NamedValues } from './golden.ts';

export type Form = 'json' | 'binary';

const headerLengthField = 'inference-header-content-length';

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The code of the catalogue; empty for an answer. */
  readonly code: string;
  readonly id: string;
  readonly version: string;
  readonly outputs: readonly NamedValues[];
  /** What the server said went wrong; empty when nothing did. */
  readonly error: string;
}

export interface CallOptions {
  readonly form?: Form;
  readonly version?: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

export function inferUrl(url: string, model: string, version = ''): string {
  return `${url}/v2/models/${model}${version === '' ? '' : `/versions/${version}`}/infer`;
}

export async function inferOverRest(
  url: string,
  model: string,
  inputs: readonly NamedValues[],
  options: CallOptions = {},
): Promise<CallAnswer> {
  const { body, headers } = encodeCall(inputs, options);
  const response = await fetch(inferUrl(url, model, options.version), {
    method: 'POST',
    body,
    headers: { ...headers, ...options.headers },
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return decodeAnswer(response.status, response.headers, bytes);
}

export function encodeCall(
  inputs: readonly NamedValues[],
  options: Pick<CallOptions, 'form' | 'id' | 'parameters'> = {},
): { readonly body: Uint8Array<ArrayBuffer>; readonly headers: Readonly<Record<string, string>> } {
  const isBinary = options.form === 'binary';
  const parts = inputs.map(({ datatype, values }) => bytesOfValues(datatype, values));
  const tensors = inputs.map(({ name, datatype, shape, values }, index) => {
    const data = isBinary
      ? `"parameters":{"binary_data_size":${parts[index]?.length}}`
      : `"data":[${values.map(jsonText).join(',')}]`;
    return `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":${JSON.stringify(shape)},${data}}`;
  });
  const parameters = { ...options.parameters, ...(isBinary ? { binary_data_output: true } : {}) };
  const id = options.id === undefined ? '' : `"id":${JSON.stringify(options.id)},`;
  const json = `{${id}"parameters":${JSON.stringify(parameters)},"inputs":[${tensors.join(',')}]}`;
  const head = Buffer.from(json);
  if (!isBinary) return { body: Uint8Array.from(head), headers: { 'content-type': 'application/json' } };
  const body = Uint8Array.from(Buffer.concat([head, ...parts]));
  return { body, headers: { 'content-type': 'application/octet-stream', [headerLengthField]: String(head.length) } };
}

export function decodeAnswer(status: number, headers: Headers, bytes: Uint8Array): CallAnswer {
  const headLength = Number(headers.get(headerLengthField) ?? bytes.length);
  const text = new TextDecoder().decode(bytes.subarray(0, headLength));
  const document = parseExactly(text) as {
    id?: string;
    model_version?: string;
    error?: string;
    outputs?: readonly (Omit<NamedValues, 'values'> & {
      data?: readonly Element[];
      parameters?: { binary_data_size: number };
    })[];
  };
  let offset = headLength;
  const outputs = (document.outputs ?? []).map(({ name, datatype, shape, data, parameters }): NamedValues => {
    if (data !== undefined) return { name, datatype, shape, values: data.map((value) => valueFrom(datatype, value)) };
    const length = parameters?.binary_data_size ?? 0;
    offset += length;
    return { name, datatype, shape, values: valuesOfBytes(datatype, bytes.subarray(offset - length, offset)) };
  });
  if (offset !== bytes.length) throw new Error(`the answer has ${bytes.length - offset} bytes too many`);
  const code = headers.get('millrace-error-code') ?? '';
  const { id = '', model_version: version = '', error = '' } = document;
  return { status, headers, code, id, version, outputs, error };
}

function jsonText(value: Element): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** Long integers as strings, because JSON.parse would round them. */
function parseExactly(text: string): unknown {
  return JSON.parse(text === '' ? '{}' : text.replace(/(?<=[[,])-?\d{16,}(?=[,\]])/g, '"$&"'));
}

function valueFrom(datatype: Datatype, value: Element): Element {
  return datatype === 'INT64' || datatype === 'UINT64' ? BigInt(value as string | number) : value;
}

export function bytesOfValues(datatype: Datatype, values: readonly Element[]): Uint8Array {
  if (datatype === 'BYTES') return encodeBytesElements(values as readonly string[]);
  const data = new Uint8Array(values.length * datatypes[datatype].bytes);
  const elements = elementsOf({ datatype, data });
  for (const [index, value] of values.entries()) {
    if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) elements[index] = value as bigint;
    else if (datatype === 'FP16') elements[index] = fp16From(value as number);
    else if (datatype === 'BF16') elements[index] = bf16From(value as number);
    else elements[index] = Number(value);
  }
  return data;
}

export function valuesOfBytes(datatype: Datatype, data: Uint8Array): readonly Element[] {
  if (datatype === 'BYTES') return (takeBytesElements(data) ?? []).map((bytes) => new TextDecoder().decode(bytes));
  const values: Element[] = [...elementsOf({ datatype, data })];
  if (datatype === 'BOOL') return values.map((value) => value === 1);
  if (datatype === 'FP16') return values.map((value) => numberFromFp16(value as number));
  if (datatype === 'BF16') return values.map((value) => numberFromBf16(value as number));
  return values;
}
