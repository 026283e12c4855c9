/** ModelInfer as a foreign protobuf library writes and reads it, shared by the faces that speak its messages. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Datatype, grpcStatus, type Tensor } from '@millrace/protocol';
import { repositoryRoot } from '../../support/repository-root.ts';
import { type FaceAnswer, type FaceRefusal, type FaceRequest, refusalFrom } from './inference-face.ts';
import { type TensorValue, valuesIn } from './tensors.ts';

export const modelInferPath = '/inference.GRPCInferenceService/ModelInfer';

/** No message of any kind: a field that says it is longer than all there is. */
export const malformedMessage = Uint8Array.of(0x0a, 0x7f, 0x61);

/** How the data of inputs travels: side by side as bytes, or typed with each input, where the datatype has such a field. */
export type ContentsForm = 'raw' | 'typed';

interface MessageType {
  fromObject(fields: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}

const protobuf = createRequire(import.meta.url)('protobufjs') as {
  Root: new () => {
    resolvePath: (from: string, to: string) => string;
    loadSync(files: readonly string[], options: object): { lookupType(name: string): MessageType };
  };
};
const root = new protobuf.Root();
root.resolvePath = (_, file) => join(repositoryRoot, 'proto', file);
const files = ['inference/grpc_service.proto', 'google/rpc/status.proto', 'google/rpc/error_details.proto'];
const types = root.loadSync(files, { keepCase: true });
const requestType = types.lookupType('inference.ModelInferRequest');
const responseType = types.lookupType('inference.ModelInferResponse');
const statusType = types.lookupType('google.rpc.Status');
const errorInfoType = types.lookupType('google.rpc.ErrorInfo');

const typedFields: Readonly<Partial<Record<Datatype, string>>> = {
  BOOL: 'bool_contents',
  INT8: 'int_contents',
  INT16: 'int_contents',
  INT32: 'int_contents',
  INT64: 'int64_contents',
  UINT8: 'uint_contents',
  UINT16: 'uint_contents',
  UINT32: 'uint_contents',
  UINT64: 'uint64_contents',
  FP32: 'fp32_contents',
  FP64: 'fp64_contents',
  BYTES: 'bytes_contents',
};

export function requestBytes(request: FaceRequest, form: ContentsForm): Uint8Array {
  const message = requestType.fromObject(requestFields(request, form));
  return requestType.encode(message).finish();
}

/** The fields by the names of the proto file, 64-bit integers as texts and bytes as base64: protobuf's JSON, and what its libraries take. */
export function requestFields(request: FaceRequest, form: ContentsForm): object {
  const { model, version, id, inputs, outputs } = request;
  const isTyped = form === 'typed' && inputs.every(({ datatype }) => typedFields[datatype] !== undefined);
  const heads = inputs.map((input) => ({
    name: input.name,
    datatype: input.datatype,
    shape: input.shape.map(String),
    ...(isTyped ? { contents: { [typedFields[input.datatype] as string]: valuesIn(input).map(fieldFrom) } } : {}),
  }));
  return {
    model_name: model,
    ...(version === undefined ? {} : { model_version: version }),
    ...(id === undefined ? {} : { id }),
    parameters: parametersOf(request),
    inputs: heads,
    ...(isTyped ? {} : { raw_input_contents: inputs.map(({ data }) => base64From(data)) }),
    outputs: (outputs ?? []).map(({ name, classes }) => ({
      name,
      ...(classes === undefined ? {} : { parameters: { classification: { int64_param: String(classes) } } }),
    })),
  };
}

function fieldFrom(value: TensorValue): unknown {
  if (value instanceof Uint8Array) return base64From(value);
  if (typeof value === 'bigint') return String(value);
  // JSON has no such numbers, and `JSON.stringify` drops a sign.
  return Object.is(value, -0) ? '-0' : typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

const base64From = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function parametersOf({ parameters, priority, queueTimeoutMs, sequence }: FaceRequest): object {
  const written: Record<string, object> = {};
  for (const [key, value] of Object.entries(parameters ?? {})) {
    if (typeof value === 'boolean') written[key] = { bool_param: value };
    else if (typeof value === 'string') written[key] = { string_param: value };
    else written[key] = Number.isInteger(value) ? { int64_param: String(value) } : { double_param: value };
  }
  if (priority !== undefined) written.priority = { uint64_param: String(priority) };
  if (queueTimeoutMs !== undefined) written.timeout = { int64_param: String(queueTimeoutMs * 1000) };
  if (sequence === undefined) return written;
  const { id, isStart, isEnd } = sequence;
  written.sequence_id = typeof id === 'string' ? { string_param: id } : { uint64_param: String(id) };
  if (isStart !== undefined) written.sequence_start = { bool_param: isStart };
  if (isEnd !== undefined) written.sequence_end = { bool_param: isEnd };
  return written;
}

export function inferAnswerFrom(bytes: Uint8Array): FaceAnswer {
  const options = { defaults: true, longs: Number };
  const answer = responseType.toObject(responseType.decode(bytes), options) as {
    model_name: string;
    model_version: string;
    id: string;
    outputs: Pick<Tensor, 'name' | 'datatype' | 'shape'>[];
    raw_output_contents: Uint8Array[];
  };
  const outputs = answer.outputs.map(({ name, datatype, shape }, index) => {
    const raw = answer.raw_output_contents[index];
    if (raw === undefined) throw new Error(`output ${name} has no raw contents`);
    return { name, datatype, shape, data: Uint8Array.from(raw) };
  });
  return { model: answer.model_name, version: answer.model_version, id: answer.id, outputs };
}

/** Of a call that ended with a status: `details` is the google.rpc.Status beside it. */
export function grpcRefusal(status: number, message: string, details: Uint8Array | undefined): FaceRefusal {
  const name = Object.entries(grpcStatus).find(([, number]) => number === status)?.[0] ?? String(status);
  const told =
    details === undefined ? [] : (statusType.toObject(statusType.decode(details), {}) as StatusFields).details;
  const info = told?.find(({ type_url }) => type_url.endsWith('/google.rpc.ErrorInfo'))?.value;
  return refusalFrom(info === undefined ? '' : codeFromErrorInfo(info), message, 'grpc', name);
}

interface StatusFields {
  readonly details?: readonly { readonly type_url: string; readonly value: Uint8Array }[];
}

export function codeFromErrorInfo(info: Uint8Array): string {
  const { reason, domain } = errorInfoType.toObject(errorInfoType.decode(info), {}) as Record<string, string>;
  if (domain !== 'millrace') throw new Error(`an ErrorInfo of the domain ${domain}`);
  return String(reason).toLowerCase().replaceAll('_', '-');
}
