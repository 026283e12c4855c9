import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { InferenceError } from '@millrace/protocol';
import { afterEach, expect, test } from 'vitest';
import { ErrorInfoSchema } from '../../proto/generated/google/rpc/error_details_pb.ts';
import { ModelInferRequestSchema, ModelInferResponseSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { type ServedEdge, serveEdge } from './testing/served-edge.ts';

let open: ServedEdge | undefined;
afterEach(async () => {
  await open?.server.close();
});

async function serve(callerHeader = ''): Promise<ServedEdge> {
  open = await serveEdge(callerHeader);
  return open;
}

test('the server reports its metadata and health', async () => {
  const { call, health } = await serve();
  expect(await call('ServerLive')).toEqual({ live: true });
  expect(await call('ServerReady')).toEqual({ ready: true });
  health.become({ isReady: false });
  expect(await call('ServerReady')).toEqual({});
  const extensions = [
    'binary_tensor_data',
    'classification',
    'model_configuration',
    'parameters',
    'schedule_policy',
    'sequence',
    'sequence(string_id)',
    'statistics',
    'of_our_own',
  ];
  expect(await call('ServerMetadata')).toEqual({ name: 'mill', version: '1.2.3', extensions });
});

test('a model reports its metadata; an unknown model is not ready', async () => {
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

test('statistics have every member, also for a model without requests', async () => {
  const { call } = await serve();
  const nothing = {};
  expect(await call('ModelStatistics', { name: 'm', version: '1' })).toEqual({
    modelStats: [
      {
        name: 'm',
        version: '1',
        inferenceStats: {
          success: nothing,
          fail: nothing,
          queue: nothing,
          computeInput: nothing,
          computeInfer: nothing,
          computeOutput: nothing,
          cacheHit: nothing,
          cacheMiss: nothing,
        },
      },
    ],
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
  expect(dataPlane.requests[0]?.origin.deadlineAt).toBe(5000);
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

test('refusals of the data plane are passed on unchanged', async () => {
  const { call, dataPlane } = await serve();
  dataPlane.infer = () => Promise.reject(new InferenceError('model-full', 'Exceeds maximum queue size'));
  const refusal = await call('ModelInfer', { modelName: 'm' });
  expect(refusal).toMatchObject({ status: 503, code: 'unavailable', message: 'Exceeds maximum queue size' });
});

test('unreadable inferences are counted by the catalogue’s codes, other calls are not', async () => {
  const { url, call, dataPlane } = await serve();
  const post = (method: string, body: string): Promise<unknown> =>
    fetch(`${url}/inference.GRPCInferenceService/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto' },
      body,
    });
  await post('ModelReady', '\u0007\u0007');
  expect(dataPlane.refusals).toEqual([]);
  await post('ModelInfer', '\u0007\u0007');
  await call('ModelInfer', { modelName: 'm', inputs: [{}, {}, {}] });
  expect(dataPlane.refusals).toEqual(['invalid-request', 'request-too-large']);
});

test.each([
  ['', '127.0.0.1'],
  ['millrace-caller', 'team-a'],
])(
  'a caller is identified by its address, or by the field that the operator trusts: %j',
  async (callerHeader, caller) => {
    const { url, dataPlane } = await serve(callerHeader);
    await fetch(`${url}/inference.GRPCInferenceService/ModelInfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'millrace-caller': 'team-a' },
      body: JSON.stringify({ modelName: 'm' }),
    });
    expect(dataPlane.requests[0]?.origin.caller).toBe(caller);
  },
);
