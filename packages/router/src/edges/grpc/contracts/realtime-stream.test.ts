/** Calls of PredictStream, against a gateway that does what the test says. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { encodeBytesElements, InferenceError, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import {
  type InferenceRequest,
  InferenceRequestSchema,
  type InferenceResponse,
  ProtocolVersion,
} from '../../../proto/generated/realtime/inference/inference_pb.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../../rest/testing/echo-double.ts';
import { SliceQueue } from '../../slices/slice-queue.ts';
import { payloadCodec } from '../../streams/link-frame.ts';
import { type ScriptedClientLink, ScriptedGateway } from '../../streams/testing/scripted-gateway.ts';
import { createErrorEncoder } from '../encode-error.ts';
import { DefaultContext } from './call-settings.ts';
import { RealtimeService } from './realtime-service.ts';
import { ContractCallDouble, MessagesDouble } from './testing/contract-call-double.ts';

function serve(metadata: Readonly<Record<string, string>> = {}) {
  const gateway = new ScriptedGateway();
  const call = new ContractCallDouble<InferenceResponse>(metadata);
  const requests = new MessagesDouble<InferenceRequest>();
  const clock = { nowMs: 1000, now: () => clock.nowMs };
  const view = viewOf('m');
  const { service } = new RealtimeService({
    gateway,
    slices: new SliceQueue(),
    defaultContext: new DefaultContext('story'),
    callerOf: ({ peer }) => ({ caller: peer.owner, principal: '' }),
    viewOf: () => view,
    dataPlane: new EchoDataPlane(),
    catalogue: catalogueOf(view),
    clock,
    errorFrom: createErrorEncoder({ retryAfterSeconds: 1, onError: () => {} }),
  });
  const method = service.methods.find(({ name }) => name === 'PredictStream');
  if (method?.kind !== 'bidi') throw new Error('PredictStream is no bidi method');
  method.handle(requests as never, call as never);
  const send = (message: MessageInitShape<typeof InferenceRequestSchema>): void =>
    requests.push(create(InferenceRequestSchema, message));
  const link = (index = 0): ScriptedClientLink => gateway.links[index] as ScriptedClientLink;
  return { gateway, call, requests, clock, send, link };
}

const row = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);
const float = (value: number): Tensor => ({ name: 'y', datatype: 'FP32', shape: [1, 1], data: row(value) });

function sendOutput(
  link: ScriptedClientLink,
  sequence: number,
  input: number,
  tensors: readonly Tensor[],
  isLast = true,
) {
  const payload = tensors.length === 0 ? undefined : payloadCodec.encodeOutput({ kind: 'tensors', tensors });
  link.listener.onFrame({ kind: 'output', sequence, inputSequence: input, payload, endOfOutput: isLast });
}

function parsed({ version, requestId, resultJson, latencyMs, errorMessage }: InferenceResponse) {
  return { version, requestId, latencyMs, errorMessage, result: resultJson === '' ? '' : JSON.parse(resultJson) };
}

describe('a stream', () => {
  test('takes inputs in their order and answers with outputs by name', () => {
    const { send, link, call, clock, requests } = serve();
    send({ contextId: 'm', payload: row(1, 2), metadata: { 'stream-id': 's', Request_Id: 'r1' } });
    expect(link().open).toMatchObject({ streamId: 's', mode: 'either', context: 'm', resumeAfter: 0 });
    expect([requests.isPaused, requests.keptBytes, call.isStarted]).toEqual([true, 100, false]);
    link().sendOpened('s', { warnings: ['the id can be gu\u00e9ssed'] });
    expect(call.leading.byName).toEqual({
      'millrace-protocol-version': 'V1',
      'millrace-deprecation': expect.stringContaining('send version V2'),
      'millrace-stream-id': 's',
      'millrace-accepted-input': '0',
      'millrace-warning': 'the id can be gu?ssed',
    });
    send({ payload: row(3, 4), metadata: { 'timeout-ms': '250' }, endOfStream: true });
    expect(link().inputs).toMatchObject([
      { sequence: 1, endOfInput: false, payload: { tensors: [{ name: 'x', shape: [1, 2] }] } },
      { sequence: 2, endOfInput: true, deadlineMs: 250 },
    ]);
    expect(requests.keptBytes).toBe(0);
    clock.nowMs += 12.4;
    sendOutput(link(), 1, 1, [float(0.5)]);
    sendOutput(link(), 2, 2, [float(1.5)]);
    expect(call.sent.map(parsed)).toEqual([
      { version: ProtocolVersion.V1, requestId: 'r1', latencyMs: 12, errorMessage: '', result: { y: 0.5 } },
      { version: ProtocolVersion.V1, requestId: 's/2', latencyMs: 12, errorMessage: '', result: { y: 1.5 } },
    ]);
    link().sendEnded(2);
    expect([call.ending, call.trailing.byName]).toEqual([
      'ended',
      { 'millrace-stream-outcome': 'done', 'millrace-stream-outputs': '2' },
    ]);
  });

  test('says in V2 where each answer belongs', () => {
    const { send, link, call } = serve();
    send({ version: ProtocolVersion.V2, contextId: 'm', payload: row(1, 2), metadata: { 'stream-id': 's' } });
    link().sendOpened('s');
    sendOutput(link(), 1, 1, [float(0.5)], false);
    sendOutput(link(), 2, 1, []);
    const origin = { model: 'm', version: '1', stream_id: 's', input_sequence: 1 };
    expect(call.sent.map((response) => parsed(response).result)).toEqual([
      { y: 0.5, millrace: { ...origin, sequence: 1, end_of_output: false } },
      { millrace: { ...origin, sequence: 2, end_of_output: true } },
    ]);
    expect(call.leading.byName['millrace-deprecation']).toBeUndefined();
  });

  test('is resumed after the last answer seen, without a payload or context', () => {
    const { send, link, call, requests } = serve();
    send({ metadata: { 'stream-id': 's', sequence: '7' } });
    expect(link().open).toMatchObject({ streamId: 's', mode: 'resume', context: '', resumeAfter: 7 });
    link().sendOpened('s', { acceptedInput: 8 });
    expect(link().inputs).toEqual([]);
    expect(call.leading.byName['millrace-accepted-input']).toBe('8');
    send({ payload: row(1, 2), metadata: { 'input-sequence': '8' } });
    send({ payload: row(1, 2), metadata: { 'input-sequence': '9' } });
    expect(link().inputs).toMatchObject([{ sequence: 9 }]);
    requests.end();
    expect(link().isFinishing).toBe(true);
    link().listener.onClosed(undefined);
    expect([call.ending, call.trailing.byName]).toEqual(['ended', {}]);
  });

  test('without an id ends its inputs with the call, and is cancelled when that is lost', () => {
    const ended = serve();
    ended.send({ contextId: 'm', payload: row(1, 2) });
    expect(ended.link().open).toMatchObject({ streamId: undefined, mode: 'new' });
    ended.link().sendOpened('made');
    ended.requests.end();
    expect(ended.link().inputs).toMatchObject([
      { sequence: 1 },
      { sequence: 2, payload: { kind: 'none' }, endOfInput: true },
    ]);
    const lost = serve();
    lost.send({ contextId: 'm', payload: row(1, 2) });
    lost.link().sendOpened('made');
    lost.call.lose();
    expect([lost.link().isCancelled, lost.link().isDetached]).toEqual([true, true]);
  });

  test('holds back inputs without credit, and goes on with it', () => {
    const { send, link, requests } = serve();
    send({ contextId: 'm', payload: row(1, 2), metadata: { 'stream-id': 's' } });
    link().sendOpened('s', { inputCredit: { messages: 1, bytes: 1024 } });
    send({ payload: row(1, 2) });
    expect([link().inputs.length, requests.isPaused, requests.keptBytes]).toEqual([1, true, 100]);
    link().listener.onFrame({ kind: 'accepted', input: 1, inputCredit: { messages: 1, bytes: 1024 } });
    expect([link().inputs.length, requests.isPaused, requests.keptBytes]).toEqual([2, false, 0]);
  });
});

describe('an error', () => {
  test('is a response and the status of the call', () => {
    const { send, link, call } = serve();
    send({ contextId: 'm', payload: row(1, 2), metadata: { 'stream-id': 's' } });
    link().sendOpened('s');
    link().listener.onFrame({ kind: 'ended', outcome: 'failed', code: 'worker-lost', message: 'gone', outputs: 0 });
    expect(call.sent.map(parsed)).toMatchObject([{ errorMessage: 'gone', result: '' }]);
    expect(call.ending).toMatchObject({ code: 'unavailable', message: 'gone' });
    expect(call.trailing.byName['millrace-stream-outcome']).toBe('failed');
  });

  test('names the default context where the call named none', () => {
    const { send, link, call } = serve();
    send({ payload: row(1, 2), metadata: { 'request-id': 'r' } });
    expect(link().open.context).toBe('story');
    link().listener.onClosed(new InferenceError('unknown-model', 'story is not found'));
    expect(call.sent.map(parsed)).toMatchObject([
      { requestId: 'r', errorMessage: expect.stringContaining('streams.defaultContext') },
    ]);
  });

  const first = { contextId: 'm', payload: row(1, 2), metadata: { 'stream-id': 's' } };
  test.each([
    [
      [{ ...first, version: 7 }],
      {},
      /speaks version '7' of realtime\.inference\.InferenceService, and this server V1, V2/,
    ],
    [[first], { 'millrace-protocol-versions': 'V3' }, /speaks version 'V3'/],
    [[{ metadata: { 'stream-id': 'not an id' } }], {}, /the stream id/],
    [[{ metadata: { sequence: '3' } }], {}, /without metadata\["stream-id"\]/],
    [[{ metadata: { 'stream-id': 's', sequence: '-1' } }], {}, /"sequence"\] must be a whole number from 0/],
    [[{ metadata: { 'stream-id': 's', Stream_ID: 's' } }], {}, /'stream-id' in two spellings/],
    [[{ ...first, metadata: { 'timeout-ms': '0' } }], {}, /"timeout-ms"\] must be a whole number from 1/],
    [[{ ...first, metadata: { 'request-id': 'x'.repeat(257) } }], {}, /257 characters, more than the 256/],
    [[{ ...first, metadata: { parameters: '[]' } }], {}, /metadata\["parameters"\] must be a JSON object/],
    [[{ ...first, payload: row(1) }], {}, /4 bytes of FP32 do not fill/],
    [[first, { contextId: 'other', payload: row(1, 2) }], {}, /for context 'm', not 'other'/],
    [[first, { payload: row(1, 2), metadata: { 'stream-id': 't' } }], {}, /for stream 's', not 't'/],
    [[first, { version: 1, payload: row(1, 2) }], {}, /the call speaks V1, and a message another version/],
    [[first, { payload: row(1, 2), metadata: { parameters: '{"a":1}' } }], {}, /opened with other parameters/],
    [[{ ...first, endOfStream: true }, { payload: row(1, 2) }], {}, /an input follows end_of_stream/],
  ])('%# is refused', (messages, metadata, message) => {
    const { send, gateway, call, requests } = serve(metadata as Readonly<Record<string, string>>);
    send(messages[0] as object);
    gateway.links[0]?.sendOpened('s');
    for (const one of messages.slice(1)) send(one as object);
    expect(call.sent.map(({ errorMessage }) => errorMessage).join()).toMatch(message);
    expect((call.ending as Error).message).toMatch(message);
    expect(requests.keptBytes).toBe(0);
  });

  test('an input without a number is refused on a stream that has some already', () => {
    const { send, link, call } = serve();
    send(first);
    link().sendOpened('s', { acceptedInput: 3 });
    expect(String((call.ending as Error).message)).toMatch(
      /has 3 inputs already; number this one by metadata\["input-sequence"\]/,
    );
    expect([link().inputs, link().isDetached]).toEqual([[], true]);
  });

  test('an input that waits for a missing one is named when the call ends', () => {
    const { send, link, call, requests } = serve();
    send({ ...first, metadata: { 'stream-id': 's', 'input-sequence': '3' } });
    link().sendOpened('s');
    requests.end();
    link().listener.onClosed(undefined);
    expect((call.ending as Error).message).toMatch(/input 3 was not applied, because input 1 is missing/);
  });

  test('a call without a message is refused', () => {
    const { call, requests } = serve();
    requests.end();
    expect((call.ending as Error).message).toMatch(/the call has no message/);
  });
});

test('the highest version of a list is spoken, whatever the messages say', () => {
  const { send, link, call } = serve({ 'millrace-protocol-versions': 'V1, V2, V9' });
  send({ version: 7 as ProtocolVersion, contextId: 'm', payload: row(1, 2) });
  link().sendOpened('s');
  sendOutput(link(), 1, 1, [{ name: 'y', datatype: 'BYTES', shape: [1], data: encodeBytesElements(['a']) }]);
  expect(call.sent.map(parsed)).toMatchObject([{ version: ProtocolVersion.V2, result: { y: 'a' } }]);
  expect(call.leading.byName['millrace-protocol-version']).toBe('V2');
});
