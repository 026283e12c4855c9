import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { expect, test } from 'vitest';
import type { SequenceStep } from '../../data-plane/infer.ts';
import { ModelInferRequestSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { grpcDefaults, resolveGrpcConfig } from './config.ts';
import { type DecodedGrpcRequest, decodeRequest } from './decode-request.ts';
import { InferMessageReader } from './infer-message.ts';

const reader = new InferMessageReader(grpcDefaults);
type Init = MessageInitShape<typeof ModelInferRequestSchema>;

function decode(init: Init, timeoutMs?: number): DecodedGrpcRequest {
  const bytes = toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { modelName: 'm', ...init }));
  return decodeRequest(reader.read(bytes), {
    caller: '10.0.0.9',
    timeoutMs,
    deadlineAfter: (ms) => ms ?? Number.POSITIVE_INFINITY,
  });
}

const x = { name: 'x', datatype: 'UINT8', shape: [2n] };
const raw = [Uint8Array.of(1, 2)];

test('a request with raw contents', () => {
  const { request, classes } = decode({ modelVersion: '3', id: 'i', inputs: [x], rawInputContents: raw });
  expect(request).toEqual({
    target: { model: 'm', version: '3', id: 'i', parameters: new Map(), outputs: [], sequence: undefined },
    inputs: [{ name: 'x', datatype: 'UINT8', shape: [2], data: expect.any(Uint8Array) }],
    origin: {
      caller: '10.0.0.9',
      deadlineAt: Number.POSITIVE_INFINITY,
      queueTimeoutMs: Number.POSITIVE_INFINITY,
      priority: 0,
      trail: [],
    },
  });
  expect([...(request.inputs[0]?.data ?? [])]).toEqual([1, 2]);
  expect(classes.size).toBe(0);
});

test('a request with typed contents', () => {
  const { request } = decode({ inputs: [{ ...x, contents: { uintContents: [3, 4] } }] });
  expect([...(request.inputs[0]?.data ?? [])]).toEqual([3, 4]);
});

test('a tensor without elements needs no data, and a single value needs no dimension', () => {
  const empty = { name: 'x', datatype: 'FP32', shape: [0n, 4n] };
  const none = new Uint8Array();
  for (const init of [
    { inputs: [empty] },
    { inputs: [empty], rawInputContents: [none] },
    { inputs: [{ ...empty, contents: {} }] },
  ]) {
    const [tensor] = decode(init).request.inputs;
    expect(tensor).toMatchObject({ shape: [0, 4], data: { length: 0 } });
  }
  const { request } = decode({ inputs: [{ ...x, shape: [], contents: { uintContents: [3] } }] });
  expect(request.inputs[0]).toMatchObject({ shape: [], data: { length: 1 } });
});

test('FP16 and BF16 travel raw', () => {
  for (const datatype of ['FP16', 'BF16']) {
    const { request } = decode({ inputs: [{ name: 'x', datatype, shape: [1n] }], rawInputContents: raw });
    expect(request.inputs[0]?.datatype).toBe(datatype);
  }
});

test('outputs keep their order, and may ask for classes', () => {
  const classification = { parameterChoice: { case: 'int64Param' as const, value: 3n } };
  const outputs = [{ name: 'b' }, { name: 'a', parameters: { classification } }];
  const { request, classes } = decode({ outputs });
  expect(request.target.outputs).toEqual(['b', 'a']);
  expect([...classes]).toEqual([['a', 3]]);
});

test('parameters reach the model, but not those that are for the server', () => {
  const { request } = decode({
    parameters: {
      timeout: { parameterChoice: { case: 'int64Param', value: 2500n } },
      triton_enable_empty_final_response: { parameterChoice: { case: 'boolParam', value: true } },
      text: { parameterChoice: { case: 'stringParam', value: 's' } },
      number: { parameterChoice: { case: 'doubleParam', value: 1.5 } },
      small: { parameterChoice: { case: 'int64Param', value: -7n } },
      large: { parameterChoice: { case: 'uint64Param', value: 2n ** 64n - 1n } },
    },
  });
  expect(request.origin.queueTimeoutMs).toBe(2.5);
  expect(new Map(request.target.parameters)).toEqual(
    new Map<string, unknown>([
      ['text', 's'],
      ['number', 1.5],
      ['small', -7],
      ['large', 2n ** 64n - 1n],
    ]),
  );
});

test('the tighter of the call and millrace_timeout_ms is the deadline', () => {
  const parameters = { millrace_timeout_ms: { parameterChoice: { case: 'int64Param' as const, value: 20n } } };
  expect([decode({ parameters }), decode({ parameters }, 30), decode({ parameters }, 3)]).toMatchObject([
    { request: { origin: { deadlineAt: 20 } } },
    { request: { origin: { deadlineAt: 20 } } },
    { request: { origin: { deadlineAt: 3 } } },
  ]);
  expect(decode({ parameters }).request.target.parameters.size).toBe(0);
});

test('the call limits the request, the parameter its wait', () => {
  const timeout = { parameterChoice: { case: 'int64Param' as const, value: 5000n } };
  expect(decode({ parameters: { timeout } }, 3).request).toMatchObject({
    origin: { deadlineAt: 3, queueTimeoutMs: 5 },
  });
  expect(decode({}, 30).request).toMatchObject({
    origin: { deadlineAt: 30, queueTimeoutMs: Number.POSITIVE_INFINITY },
  });
});

const text = (value: string) => ({ parameterChoice: { case: 'stringParam' as const, value } });
const unsigned = (value: bigint) => ({ parameterChoice: { case: 'uint64Param' as const, value } });
const signed = (value: bigint) => ({ parameterChoice: { case: 'int64Param' as const, value } });
const flag = (value: boolean) => ({ parameterChoice: { case: 'boolParam' as const, value } });

test.each<[string, Init['parameters'], SequenceStep | undefined]>([
  ['an int64', { sequence_id: signed(7n), sequence_start: flag(true) }, { id: 7n, isStart: true, isEnd: false }],
  ['a negative int64', { sequence_id: signed(-1n) }, { id: 2n ** 64n - 1n, isStart: false, isEnd: false }],
  ['a uint64', { sequence_id: unsigned(2n ** 63n) }, { id: 2n ** 63n, isStart: false, isEnd: false }],
  ['a string', { sequence_id: text('7'), sequence_end: flag(true) }, { id: '7', isStart: false, isEnd: true }],
  ['zero', { sequence_id: signed(0n), sequence_start: flag(true) }, undefined],
  ['an empty string', { sequence_id: text('') }, undefined],
  ['nothing but flags', { sequence_start: flag(true), sequence_end: flag(true) }, undefined],
])('the id of a sequence as %s', (_, parameters, sequence) => {
  const { request } = decode({ parameters: parameters ?? {} });
  expect(request.target.sequence).toEqual(sequence);
  expect(request.target.parameters.size).toBe(0);
});

test('a priority is an int64 or a uint64, and is not for the model', () => {
  for (const priority of [signed(3n), unsigned(3n)]) {
    const { request } = decode({ parameters: { priority } });
    expect(request.origin.priority).toBe(3);
    expect(request.target.parameters.size).toBe(0);
  }
});

test.each<[string, Init, string]>([
  [
    'both forms at once',
    { inputs: [{ ...x, contents: { uintContents: [3, 4] } }], rawInputContents: raw },
    "contents field must not be specified when using raw_input_contents for 'x' for model 'm'",
  ],
  [
    'an empty form beside raw data',
    { inputs: [{ ...x, contents: {} }], rawInputContents: raw },
    "contents field must not be specified when using raw_input_contents for 'x' for model 'm'",
  ],
  ['no data', { inputs: [x] }, "unable to find data for input tensor 'x' for model 'm' in request."],
  [
    'data for one of two',
    { inputs: [x, { ...x, name: 'y' }], rawInputContents: raw },
    "unable to find data for input tensor 'y' for model 'm' in request.",
  ],
  [
    'more data than inputs',
    { inputs: [x], rawInputContents: [...raw, ...raw] },
    "the request has 1 inputs but 2 raw_input_contents for model 'm'; send one for each input",
  ],
  ['an unknown datatype', { inputs: [{ ...x, datatype: 'FLOAT' }] }, "invalid datatype 'FLOAT' for input 'x'"],
  ['a negative dimension', { inputs: [{ ...x, shape: [-1n] }] }, "input 'x': dimension 0 of shape [-1] is negative"],
  ['a shape beyond counting', { inputs: [{ ...x, shape: [2n ** 62n, 4n] }] }, "input 'x': shape"],
  [
    'an input in shared memory',
    { inputs: [{ ...x, parameters: { shared_memory_region: text('r') } }] },
    'Client shared memory is disabled',
  ],
  [
    'an output in shared memory',
    { outputs: [{ name: 'o', parameters: { shared_memory_region: text('r') } }] },
    'Client shared memory is disabled',
  ],
  [
    'no classes',
    { outputs: [{ name: 'o', parameters: { classification: unsigned(1n) } }] },
    "output 'o': parameter 'classification' must be an int64 of 1 or more",
  ],
  [
    'a deadline that is text',
    { parameters: { millrace_timeout_ms: text('1') } },
    "parameter 'millrace_timeout_ms' must be a whole number of milliseconds",
  ],
  [
    'a time limit that is text',
    { parameters: { timeout: text('1') } },
    "parameter 'timeout' must be an int64 of microseconds",
  ],
  [
    'a reserved parameter',
    { parameters: { triton_x: text('1') } },
    "parameter keys starting with 'triton_' are reserved",
  ],
  ['a sequence id that is a bool', { parameters: { sequence_id: flag(true) } }, "'sequence_id' must be an int64"],
  [
    'a sequence id that is too long',
    { parameters: { sequence_id: text('x'.repeat(129)) } },
    'has 129 bytes, more than the 128 allowed',
  ],
  ['a start that is text', { parameters: { sequence_start: text('true') } }, "'sequence_start' must be a bool"],
  ['an end that is a number', { parameters: { sequence_end: signed(1n) } }, "'sequence_end' must be a bool"],
  ['a negative priority', { parameters: { priority: signed(-1n) } }, "'priority' must be an int64 or a uint64"],
  ['a priority that is text', { parameters: { priority: text('1') } }, "'priority' must be an int64 or a uint64"],
  ['a parameter without a value', { parameters: { p: {} } }, "parameter 'p' has no value"],
])('%s is refused', (_, init, message) => {
  expect(() => decode(init)).toThrow(message);
});

test('limits have ranges', () => {
  expect(resolveGrpcConfig({ inputsMax: 1 }).inputsMax).toBe(1);
  expect(resolveGrpcConfig({})).toEqual(grpcDefaults);
  expect(() => resolveGrpcConfig({ inputsMax: 0, retryAfterSeconds: -1 })).toThrow(/inputsMax.*\n.*retryAfterSeconds/);
});
