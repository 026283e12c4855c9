/** The whole edge behind a socket, called as a browser would: Connect over HTTP/1.1. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { createRpcHandler, type HttpServer, RpcError, serveWire } from '@millrace/http';
import { type ErrorCode, errorCatalogue, grpcStatus, InferenceError } from '@millrace/protocol';
import { afterEach, expect, test, vi } from 'vitest';
import type { WatchedHealth } from '../../registry/catalogue.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../rest/echo-double.ts';
import { createGrpcEdge, type GrpcEdge } from './edge.ts';
import { createErrorEncoder } from './encode-error.ts';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './generated/google/rpc/error_details_pb.ts';
import { ModelInferRequestSchema, ModelInferResponseSchema } from './generated/inference/grpc_service_pb.ts';

class HealthDouble implements WatchedHealth {
  isLive = true;
  isReady = true;
  isEnding = false;
  readonly listeners = new Set<() => void>();
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  become(change: Partial<Pick<HealthDouble, 'isReady' | 'isEnding'>>): void {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
  }
}

interface Served {
  readonly url: string;
  readonly edge: GrpcEdge;
  readonly health: HealthDouble;
  readonly dataPlane: EchoDataPlane;
  call(method: string, body?: unknown): Promise<unknown>;
}

let open: HttpServer | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

const config = {
  name: 'm',
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
  dynamic_batching: { max_queue_delay_microseconds: 2n ** 60n },
  version_policy: { latest: { num_versions: 1 } },
  of_the_future: true,
};

async function serve(): Promise<Served> {
  const health = new HealthDouble();
  const dataPlane = new EchoDataPlane();
  const view = viewOf('m', { config, labels: new Map([['x', ['cat', 'dog']]]) });
  const edge = createGrpcEdge({
    catalogue: catalogueOf(view, viewOf('other')),
    dataPlane,
    health,
    server: { name: 'mill', version: '1.2.3', extensions: ['statistics'] },
    limits: { inputsMax: 2 },
  });
  const handler = createRpcHandler(edge.services, { errorFrom: (error) => edge.errorFrom(error) });
  open = await serveWire(handler);
  const url = `http://127.0.0.1:${open.port}`;
  const call = async (method: string, body: unknown = {}): Promise<unknown> => {
    const path = method.includes('/') ? method : `inference.GRPCInferenceService/${method}`;
    const response = await fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as object;
    return response.status === 200 ? answer : { status: response.status, ...answer };
  };
  return { url, edge, health, dataPlane, call };
}

/** The messages of a Connect stream, as they come. */
async function* streamed(url: string, path: string, ...messages: readonly unknown[]): AsyncGenerator<unknown> {
  const body = Buffer.concat(
    messages.map((message) => {
      const bytes = Buffer.from(JSON.stringify(message));
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([prefix, bytes]);
    }),
  );
  const headers = { 'content-type': 'application/connect+json' };
  const response = await fetch(`${url}/${path}`, { method: 'POST', headers, body });
  let rest = Buffer.alloc(0);
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield JSON.parse(rest.subarray(5, end).toString());
      rest = rest.subarray(end);
    }
  }
}

test('the server tells of itself', async () => {
  const { call, health } = await serve();
  expect(await call('ServerLive')).toEqual({ live: true });
  expect(await call('ServerReady')).toEqual({ ready: true });
  health.become({ isReady: false });
  expect(await call('ServerReady')).toEqual({});
  const extensions = ['binary_tensor_data', 'classification', 'model_configuration', 'parameters', 'statistics'];
  expect(await call('ServerMetadata')).toEqual({ name: 'mill', version: '1.2.3', extensions });
});

test('a model tells of itself; one that is not there is not ready', async () => {
  const { call } = await serve();
  expect(await call('ModelReady', { name: 'm' })).toEqual({ ready: true });
  expect(await call('ModelReady', { name: 'nobody' })).toEqual({});
  const x = { name: 'x', datatype: 'FP32', shape: ['-1', '2'] };
  expect(await call('ModelMetadata', { name: 'm', version: '1' })).toEqual({
    name: 'm',
    versions: ['1'],
    platform: 'onnxruntime_onnx',
    inputs: [x],
    outputs: [x],
  });
  expect(await call('ModelMetadata', { name: 'nobody' })).toMatchObject({ status: 404, code: 'not_found' });
});

test('the configuration is the message that Triton’s clients read', async () => {
  const { call } = await serve();
  expect(await call('ModelConfig', { name: 'm' })).toEqual({
    config: {
      name: 'm',
      maxBatchSize: 8,
      input: [{ name: 'x', dataType: 'TYPE_FP32', dims: ['2'] }],
      dynamicBatching: { maxQueueDelayMicroseconds: String(2n ** 60n) },
      versionPolicy: { latest: { numVersions: 1 } },
    },
  });
});

test('an inference in protobuf gives its tensors and gives their memory back', async () => {
  const { url, dataPlane } = await serve();
  const data = new Uint8Array(new Float32Array([1, 2]).buffer);
  const message = create(ModelInferRequestSchema, {
    modelName: 'm',
    id: 'seven',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1n, 2n] }],
    rawInputContents: [data],
  });
  const response = await fetch(`${url}/inference.GRPCInferenceService/ModelInfer`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto', 'connect-timeout-ms': '5000' },
    body: toBinary(ModelInferRequestSchema, message),
  });
  const answer = fromBinary(ModelInferResponseSchema, new Uint8Array(await response.arrayBuffer()));
  expect([answer.modelName, answer.modelVersion, answer.id]).toEqual(['m', '1', 'seven']);
  expect(answer.outputs[0]).toMatchObject({ name: 'x', datatype: 'FP32', shape: [1n, 2n] });
  expect(answer.rawOutputContents).toEqual([data]);
  expect(dataPlane.requests[0]?.timeoutMs).toBe(5000);
  expect([dataPlane.answers, dataPlane.releases]).toEqual([1, 1]);
});

test('an inference in JSON, typed contents in, raw contents out', async () => {
  const { call, dataPlane } = await serve();
  const input = { name: 'x', datatype: 'FP32', shape: ['1', '2'], contents: { fp32Contents: [1, 2] } };
  expect(await call('ModelInfer', { modelName: 'm', inputs: [input] })).toEqual({
    modelName: 'm',
    modelVersion: '1',
    outputs: [{ name: 'x', datatype: 'FP32', shape: ['1', '2'] }],
    rawOutputContents: [Buffer.from(new Float32Array([1, 2]).buffer).toString('base64')],
  });
  expect([dataPlane.answers, dataPlane.releases]).toEqual([1, 1]);
});

test('classes are named instead of the tensor', async () => {
  const { call, dataPlane } = await serve();
  const input = { name: 'x', datatype: 'FP32', shape: ['1', '2'], contents: { fp32Contents: [1, 10] } };
  const outputs = [{ name: 'x', parameters: { classification: { int64Param: '1' } } }];
  const answer = (await call('ModelInfer', { modelName: 'm', inputs: [input], outputs })) as {
    outputs: unknown[];
    rawOutputContents: string[];
  };
  expect(answer.outputs).toEqual([{ name: 'x', datatype: 'BYTES', shape: ['1', '1'] }]);
  expect(
    Buffer.from(answer.rawOutputContents[0] ?? '', 'base64')
      .subarray(4)
      .toString(),
  ).toBe('10.000000:1:dog');
  expect(dataPlane.releases).toBe(1);
});

test.each([
  [
    'a wrong request',
    { modelName: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: ['1', '2'] }] },
    400,
    'INVALID_REQUEST',
  ],
  ['too many inputs', { modelName: 'm', inputs: [{}, {}, {}] }, 429, 'REQUEST_TOO_LARGE'],
])('%s is refused by the catalogue’s code', async (_, body, status, reason) => {
  const { call } = await serve();
  const refusal = (await call('ModelInfer', body)) as { status: number; details: { type: string; value: string }[] };
  expect(refusal.status).toBe(status);
  const info = refusal.details.find(({ type }) => type === 'google.rpc.ErrorInfo');
  expect(fromBinary(ErrorInfoSchema, Buffer.from(info?.value ?? '', 'base64'))).toMatchObject({
    reason,
    domain: 'millrace',
  });
});

test('what the data plane refuses is told as it is', async () => {
  const { call, dataPlane } = await serve();
  dataPlane.infer = () => Promise.reject(new InferenceError('model-full', 'Exceeds maximum queue size'));
  const refusal = await call('ModelInfer', { modelName: 'm' });
  expect(refusal).toMatchObject({ status: 503, code: 'unavailable', message: 'Exceeds maximum queue size' });
});

test('every code of the catalogue has its status and its details', () => {
  const heard: unknown[] = [];
  const encode = createErrorEncoder({ retryAfterSeconds: 7, onError: (error) => heard.push(error) });
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const error = encode(new InferenceError(code, 'words'));
    expect(error.message).toBe('words');
    const details = new Map(error.details.map(({ type, value }) => [type, value]));
    const info = fromBinary(ErrorInfoSchema, details.get('google.rpc.ErrorInfo') as Uint8Array);
    expect(info.reason).toBe(code.toUpperCase().replaceAll('-', '_'));
    const retry = details.get('google.rpc.RetryInfo');
    expect(retry !== undefined).toBe(errorCatalogue[code].retry === 'after-backoff');
    if (retry !== undefined) expect(fromBinary(RetryInfoSchema, retry).retryDelay?.seconds).toBe(7n);
    const bad = details.get('google.rpc.BadRequest');
    expect(bad !== undefined).toBe(code === 'invalid-request');
    if (bad !== undefined) expect(fromBinary(BadRequestSchema, bad).fieldViolations[0]?.description).toBe('words');
    const name = errorCatalogue[code].grpc;
    expect(error.code).toBe(name === 'CANCELLED' ? 'canceled' : name.toLowerCase());
    expect(grpcStatus[name]).toBeGreaterThan(0);
  }
  expect(heard).toEqual([]);
});

test('a defect is told to the operator alone', () => {
  const heard: unknown[] = [];
  const encode = createErrorEncoder({ retryAfterSeconds: 1, onError: (error) => heard.push(error) });
  const defect = new TypeError('secret');
  expect(encode(defect)).toMatchObject({ code: 'internal', message: expect.not.stringContaining('secret') });
  expect(heard).toEqual([defect]);
  const own = new RpcError('aborted', 'x');
  expect(encode(own)).toBe(own);
});

const health = (method: string): string => `grpc.health.v1.Health/${method}`;

test('health knows the server, its services and its models', async () => {
  const { call, health: state } = await serve();
  const check = (service: string) => call(health('Check'), { service });
  for (const service of ['', 'inference.GRPCInferenceService', 'm']) {
    expect(await check(service)).toEqual({ status: 'SERVING' });
  }
  expect(await check('nobody')).toMatchObject({ status: 404, code: 'not_found' });
  state.become({ isReady: false, isEnding: true });
  for (const service of ['', 'm']) expect(await check(service)).toEqual({ status: 'NOT_SERVING' });
  expect(await call(health('List'))).toEqual({
    statuses: Object.fromEntries(
      ['', 'inference.GRPCInferenceService', 'm', 'other'].map((name) => [name, { status: 'NOT_SERVING' }]),
    ),
  });
});

test('a watch tells the status now and every change, and ends with the server', async () => {
  const { url, health: state, edge } = await serve();
  const watch = streamed(url, health('Watch'), { service: '' });
  expect((await watch.next()).value).toEqual({ status: 'SERVING' });
  state.become({ isReady: true });
  state.become({ isReady: false });
  expect((await watch.next()).value).toEqual({ status: 'NOT_SERVING' });
  state.become({ isReady: true });
  expect((await watch.next()).value).toEqual({ status: 'SERVING' });
  edge.end();
  expect((await watch.next()).value).toMatchObject({ error: { code: 'unavailable' } });
  expect(state.listeners.size).toBe(0);
});

test('a watch of something unknown waits for it, and one whose caller goes is forgotten', async () => {
  const { url, health: state } = await serve();
  const watch = streamed(url, health('Watch'), { service: 'nobody' });
  expect((await watch.next()).value).toEqual({ status: 'SERVICE_UNKNOWN' });
  expect(state.listeners.size).toBe(1);
  await watch.return(undefined);
  await vi.waitFor(() => expect(state.listeners.size).toBe(0));
});

test.each(['v1', 'v1alpha'])('reflection %s shows every service with all that its file imports', async (version) => {
  const { url } = await serve();
  const ask = async (...requests: readonly object[]): Promise<Record<string, unknown>[]> => {
    const answers: Record<string, unknown>[] = [];
    for await (const answer of streamed(
      url,
      `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      ...requests,
    )) {
      answers.push(answer as Record<string, unknown>);
    }
    return answers;
  };
  const [list, infer, field, file, nothing, extension, empty] = await ask(
    { listServices: '*' },
    { fileContainingSymbol: 'inference.GRPCInferenceService.ModelInfer' },
    { fileContainingSymbol: 'grpc.health.v1.HealthListResponse.statuses' },
    { fileByFilename: 'inference/model_config.proto' },
    { fileContainingSymbol: 'no.Such' },
    { fileContainingExtension: { containingType: 'inference.ModelConfig', extensionNumber: 5 } },
    {},
  );
  expect(list?.listServicesResponse).toEqual({
    service: [
      'inference.GRPCInferenceService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ].map((name) => ({ name })),
  });
  expect(namesOf(infer)).toEqual(['inference/grpc_service.proto', 'inference/model_config.proto']);
  expect(namesOf(field)).toEqual(['grpc/health/v1/health.proto']);
  expect(namesOf(file)).toEqual(['inference/model_config.proto']);
  for (const missing of [nothing, extension]) expect(missing).toMatchObject({ errorResponse: { errorCode: 5 } });
  expect(empty).toMatchObject({ errorResponse: { errorCode: 3 } });
});

function filesOf(answer: Record<string, unknown> = {}) {
  const response = answer.fileDescriptorResponse as { fileDescriptorProto: string[] };
  return response.fileDescriptorProto.map((file) => fromBinary(FileDescriptorProtoSchema, Buffer.from(file, 'base64')));
}

const namesOf = (answer: Record<string, unknown> | undefined): string[] => filesOf(answer).map(({ name }) => name);

test('map entries are named as tools expect them', async () => {
  const { url } = await serve();
  const path = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const { value } = await streamed(url, path, { fileContainingSymbol: 'grpc.health.v1.Health' }).next();
  const list = filesOf(value as Record<string, unknown>)[0]?.messageType.find(
    ({ name }) => name === 'HealthListResponse',
  );
  expect(list?.nestedType.map(({ name }) => name)).toEqual(['StatusesEntry']);
});
