/** Calls of Predict, on a data plane that answers with its inputs. */
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import type { RpcError } from '@millrace/http';
import { takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import {
  InferenceRequestSchema,
  type InferenceResponse,
  InferenceResponseSchema,
} from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../../rest/testing/echo-double.ts';
import { SliceQueue } from '../../slices/slice-queue.ts';
import { ScriptedGateway } from '../../streams/testing/scripted-gateway.ts';
import { createErrorEncoder } from '../encode-error.ts';
import { DefaultContext } from './call-settings.ts';
import { RealtimeService } from './realtime-service.ts';
import { ContractCallDouble } from './testing/contract-call-double.ts';

const text = { name: 'text', datatype: 'BYTES', shape: [1] } as const;
const views = [
  viewOf('m', { labels: new Map([['x', ['cat', 'dog']]]) }),
  viewOf('g', { inputs: [text], outputs: [text], isBatched: false, isGenerator: true }),
];

class UnaryDouble extends ContractCallDouble<InferenceResponse> {
  readonly timeoutMs = 500;
  answer(response: InferenceResponse): void {
    this.sent.push(response);
  }
}

async function predict(
  message: MessageInitShape<typeof InferenceRequestSchema>,
  metadata: Readonly<Record<string, string>> = {},
) {
  const dataPlane = new EchoDataPlane();
  const { service } = new RealtimeService({
    gateway: new ScriptedGateway(),
    slices: new SliceQueue(),
    defaultContext: new DefaultContext('g'),
    callerOf: ({ peer }) => ({ caller: peer.owner, principal: '' }),
    viewOf: () => undefined,
    dataPlane,
    catalogue: catalogueOf(...views),
    clock: { now: () => 0 },
    errorFrom: createErrorEncoder({ retryAfterSeconds: 1, onError: () => {} }),
  });
  const method = service.methods.find(({ name }) => name === 'Predict');
  if (method?.kind !== 'unary') throw new Error('Predict is no unary method');
  const call = new UnaryDouble(metadata);
  method.handle(create(InferenceRequestSchema, message), call as never);
  for (let turn = 0; turn < 50 && call.sent.length === 0 && call.ending === undefined; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { call, dataPlane };
}

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);

test('a payload becomes a request, and its outputs JSON', async () => {
  const { call, dataPlane } = await predict({
    version: 1,
    contextId: 'm',
    payload: floats(0.25, 0.75),
    metadata: { 'timeout-ms': '900' },
  });
  expect(JSON.parse(call.sent[0]?.resultJson ?? '')).toEqual({
    x: [0.25, 0.75],
    probabilities: { cat: 0.25, dog: 0.75 },
    millrace: { model: 'm', version: '1' },
  });
  expect(call.sent[0]?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  // The tighter of the two.
  expect(dataPlane.requests[0]?.origin).toMatchObject({ caller: '10.0.0.7', deadlineAt: 500 });
  expect(dataPlane.releases).toBe(1);
});

test('a large answer is written in slices, and released', async () => {
  const { call, dataPlane } = await predict({
    contextId: 'm',
    payload: floats(...Array.from({ length: 8192 }, () => 0.5)),
  });
  expect((JSON.parse(call.sent[0]?.resultJson ?? '') as { x: unknown[] }).x).toHaveLength(4096);
  expect(dataPlane.releases).toBe(1);
});

test('parameters reach a generator as its input, and other models as they are', async () => {
  const message = { payload: Buffer.from('a'), metadata: { 'content-type': 'text/plain' } };
  const generator = await predict(message, { 'millrace-parameters': '{"stop":["b"]}' });
  const [request] = generator.dataPlane.requests;
  expect(request?.target.model).toBe('g');
  const sampling = request?.inputs.find(({ name }) => name === 'sampling_parameters');
  expect(Buffer.from(takeBytesElements(sampling?.data as Uint8Array)?.[0] ?? []).toString()).toBe('{"stop":["b"]}');
  const other = await predict({ contextId: 'm', payload: floats(1, 2), metadata: { parameters: '{"a":1,"b":"x"}' } });
  expect(Object.fromEntries(other.dataPlane.requests[0]?.target.parameters ?? [])).toEqual({ a: 1, b: 'x' });
});

test.each([
  [{ contextId: 'm', metadata: {} }, 'invalid_argument', /the payload is empty/],
  [{ contextId: 'm', payload: floats(1, 2), metadata: { 'stream-id': 's' } }, 'invalid_argument', /call PredictStream/],
  [
    { contextId: 'm', payload: floats(1, 2), metadata: { parameters: '{"a":[1]}' } },
    'invalid_argument',
    /parameter 'a' must be/,
  ],
  [
    { contextId: 'm', payload: floats(1, 2), metadata: { parameters: '{"priority":1}' } },
    'invalid_argument',
    /'priority' cannot be used/,
  ],
  [{ contextId: 'nobody', payload: floats(1, 2), metadata: {} }, 'not_found', /'nobody' is not found/],
  [{ contextId: 'm', payload: floats(1), metadata: {} }, 'invalid_argument', /do not fill/],
])('%o is refused, by the status and by a response in its details', async (message, code, expected) => {
  const { call, dataPlane } = await predict({ ...message, metadata: { ...message.metadata, 'request-id': 'r' } });
  const error = call.ending as RpcError;
  expect([error.name, error.code, error.message]).toEqual(['RpcError', code, expect.stringMatching(expected)]);
  const detail = error.details.find(({ type }) => type === InferenceResponseSchema.typeName);
  expect(fromBinary(InferenceResponseSchema, detail?.value as Uint8Array)).toMatchObject({
    errorMessage: error.message,
    requestId: 'r',
    resultJson: '',
  });
  expect([dataPlane.requests, dataPlane.refusals.length]).toEqual([[], 1]);
});
