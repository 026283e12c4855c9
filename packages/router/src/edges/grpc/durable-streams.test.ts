/** Requests of ModelStreamInfer that belong to durable streams, against a gateway that does what the test says. */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { RpcError } from '@millrace/http';
import { InferenceError, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import {
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { CallerRule } from '../caller.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../rest/testing/echo-double.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { payloadCodec } from '../streams/link-frame.ts';
import { type ScriptedClientLink, ScriptedGateway } from '../streams/testing/scripted-gateway.ts';
import { grpcDefaults } from './config.ts';
import { encodeStreamResponse, type StreamResponse } from './encode-stream-response.ts';
import { GrpcInferOperation } from './infer.ts';
import { type InferMessage, InferMessageReader } from './infer-message.ts';
import { StreamInferOperation } from './stream-infer.ts';
import { CallDouble, RequestsDouble } from './testing/call-double.ts';

const reader = new InferMessageReader(grpcDefaults);

interface Sent {
  readonly id?: string;
  readonly model?: string;
  readonly value?: number;
  readonly outputs?: readonly string[];
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
}

/** A request; with a value it has an input. */
function message({ id = '', model = 'm', value, outputs = [], parameters = {} }: Sent): InferMessage {
  const choice = (given: string | number | boolean) => {
    if (typeof given === 'string') return { case: 'stringParam' as const, value: given };
    if (typeof given === 'boolean') return { case: 'boolParam' as const, value: given };
    return { case: 'int64Param' as const, value: BigInt(given) };
  };
  const init = {
    modelName: model,
    id,
    outputs: outputs.map((name) => ({ name })),
    inputs: value === undefined ? [] : [{ name: 'x', datatype: 'UINT8', shape: [1n, 1n] }],
    rawInputContents: value === undefined ? [] : [Uint8Array.of(value)],
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([key, given]) => [key, { parameterChoice: choice(given) }]),
    ),
  };
  return reader.read(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init)));
}

function serve(metadata: Readonly<Record<string, string>> = {}) {
  const gateway = new ScriptedGateway();
  const dataPlane = new EchoDataPlane();
  const operation = new GrpcInferOperation({
    dataPlane,
    catalogue: catalogueOf(viewOf('m')),
    config: grpcDefaults,
    callers: new CallerRule(),
    slices: new SliceQueue(),
  });
  const streams = new StreamInferOperation({
    operation,
    limits: { requestsMax: 8, slotWaitRequestsMax: 6, slotWaitBytesMax: 1000 },
    errorFrom: (error) => new RpcError('internal', (error as Error).message),
    gateway,
  });
  const requests = new RequestsDouble();
  const call = new CallDouble(metadata);
  streams.serve(requests, call);
  const send = (id: string, sent: Sent = {}): void =>
    requests.push(message({ ...sent, parameters: { stream_id: id, ...sent.parameters } }));
  const link = (index: number): ScriptedClientLink => gateway.links[index] as ScriptedClientLink;
  return { gateway, streams, requests, call, send, link };
}

function sendOutput(link: ScriptedClientLink, sequence: number, input: number, value?: number, isLast = true): void {
  const tensor: Tensor = { name: 'y', datatype: 'UINT8', shape: [1, 1], data: Uint8Array.of(value ?? 0) };
  const payload = value === undefined ? undefined : payloadCodec.encodeOutput({ kind: 'tensors', tensors: [tensor] });
  link.listener.onFrame({ kind: 'output', sequence, inputSequence: input, payload, endOfOutput: isLast });
}

/** The message as a client reads it. */
function decoded(response: StreamResponse | undefined) {
  const bytes = Buffer.concat(encodeStreamResponse(response as StreamResponse));
  const { errorMessage, inferResponse } = fromBinary(ModelStreamInferResponseSchema, bytes);
  const parameters = Object.entries(inferResponse?.parameters ?? {}).map(([key, { parameterChoice }]) => {
    const { value } = parameterChoice;
    return [key, typeof value === 'bigint' ? Number(value) : value];
  });
  return {
    errorMessage,
    id: inferResponse?.id,
    value: inferResponse?.rawOutputContents[0]?.[0],
    parameters: Object.fromEntries(parameters) as Record<string, unknown>,
  };
}

describe('the memory of its caller holds', () => {
  test('ids of requests, until they are answered or the call ends', () => {
    const { send, link, call } = serve();
    const id = 'x'.repeat(4096);
    send('s', { value: 1 });
    link(0).sendOpened('s', { acceptedInput: 2 });
    for (const sequence of [1, 2, 1, 2]) send('s', { id, value: 1, parameters: { stream_sequence: sequence } });
    const both = call.keptBytes;
    expect(both).toBeGreaterThan(2 * id.length);
    sendOutput(link(0), 1, 1, 1);
    expect(call.keptBytes).toBe(both / 2);
    call.end();
    expect(call.keptBytes).toBe(0);
  });

  test('what is remembered of streams that are over on the call', () => {
    const { send, link, call } = serve();
    send('s', { value: 1 });
    link(0).listener.onClosed(new InferenceError('too-many-streams', 'no more'));
    const one = call.keptBytes;
    expect(one).toBeGreaterThan(1000);
    send('s', { value: 1, parameters: { stream_resume_after: 0 } });
    expect(call.keptBytes).toBe(0);
    link(1).listener.onClosed(new InferenceError('too-many-streams', 'no more'));
    expect(call.keptBytes).toBe(one);
    call.end();
    expect(call.keptBytes).toBe(0);
  });
});

describe('a request with a stream id', () => {
  test('opens the stream of its model, and is its first input', () => {
    const { send, link, requests, call } = serve();
    send('s', { id: 'a', value: 7, parameters: { stream_sequence: 1, mode: 'fast' } });
    expect(link(0).open).toMatchObject({ streamId: 's', mode: 'either', context: 'm', parameters: { mode: 'fast' } });
    expect(link(0).options).toEqual({ isAcknowledging: false });
    expect(link(0).caller).toEqual({ caller: '10.0.0.7', principal: '' });
    expect([requests.isPaused, requests.keptBytes, link(0).inputs.length]).toEqual([true, 100, 0]);
    link(0).sendOpened('s');
    expect([requests.isPaused, requests.keptBytes]).toEqual([false, 0]);
    expect(link(0).inputs).toMatchObject([{ sequence: 1, endOfInput: false, payload: { kind: 'tensors' } }]);
    sendOutput(link(0), 1, 1, 49);
    expect(decoded(call.sent[0])).toEqual({
      errorMessage: '',
      id: 'a',
      value: 49,
      parameters: { stream_id: 's', stream_output: 1, stream_sequence: 1, triton_final_response: true },
    });
  });

  test('leaves those without one alone, on the same call', async () => {
    const { send, link, requests, call } = serve();
    send('s', { value: 1, parameters: { stream_sequence: 1 } });
    link(0).sendOpened('s');
    requests.push(message({ id: 'plain', value: 3 }));
    await new Promise((done) => setImmediate(done));
    expect(call.texts).toEqual(['plain']);
    expect(decoded(call.sent[0]).parameters).toEqual({ triton_final_response: true });
  });

  test('without a number begins a new stream; numbers follow', () => {
    const { send, link } = serve();
    send('s', { value: 1 });
    expect(link(0).open.mode).toBe('new');
    link(0).sendOpened('s');
    send('s', { value: 2 });
    send('s', { parameters: { stream_end: true } });
    expect(link(0).inputs.map(({ sequence, endOfInput }) => [sequence, endOfInput])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(link(0).inputs[2]?.payload).toEqual({ kind: 'none' });
  });

  test('without an input resumes, and is told where the inputs go on', () => {
    const { send, link, call } = serve();
    send('s', { id: 'a', parameters: { stream_resume_after: 4 } });
    expect(link(0).open).toMatchObject({ mode: 'resume', resumeAfter: 4 });
    link(0).sendOpened('s', { acceptedInput: 6, warnings: ['easy to guess'] });
    expect(decoded(call.sent[0])).toEqual({
      errorMessage: '',
      id: 'a',
      value: undefined,
      parameters: { stream_id: 's', stream_accepted: 6, stream_warning: 'easy to guess', triton_final_response: true },
    });
    send('s', { value: 1 });
    expect(call.texts[1]).toContain('!invalid-request: number the inputs of a stream that may have some already');
    sendOutput(link(0), 5, 5, 1);
    expect(decoded(call.sent[2])).toMatchObject({ id: '', parameters: { stream_output: 5, stream_sequence: 5 } });
  });

  test('that repeats an input names it again, and is not applied again', () => {
    const { send, link, call } = serve();
    send('s', { id: 'b', value: 2, parameters: { stream_sequence: 2, stream_resume_after: 1 } });
    link(0).sendOpened('s', { acceptedInput: 2 });
    send('s', { id: 'c', value: 3, parameters: { stream_sequence: 3 } });
    send('s', { id: 'c', value: 3, parameters: { stream_sequence: 3 } });
    expect(link(0).inputs.map(({ sequence }) => sequence)).toEqual([3]);
    sendOutput(link(0), 2, 2, 5);
    sendOutput(link(0), 3, 3, 6);
    expect(call.texts).toEqual(['b', 'c']);
  });
});

describe('answers', () => {
  test('of a model with several: the empty end is sent to those who ask for it', () => {
    const { send, link, call } = serve();
    send('s', { id: 'a', value: 1 });
    link(0).sendOpened('s');
    sendOutput(link(0), 1, 1, 8, false);
    sendOutput(link(0), 2, 1);
    send('s', { id: 'b', value: 1, parameters: { triton_enable_empty_final_response: true } });
    sendOutput(link(0), 3, 2, 9, false);
    sendOutput(link(0), 4, 2);
    const seen = call.sent.map((one) => {
      const { id, value, parameters } = decoded(one);
      return [id, value, parameters.stream_output, parameters.triton_final_response];
    });
    expect(seen).toEqual([
      ['a', 8, 1, false],
      ['b', 9, 3, false],
      ['b', undefined, 4, true],
    ]);
  });

  test('go on when the call has room again, for streams and plain requests', async () => {
    const { send, link, call } = serve();
    for (const id of ['s', 't']) {
      send(id, { value: 1 });
      link(call.sent.length + (id === 's' ? 0 : 1)).sendOpened(id);
    }
    call.hasRoom = false;
    sendOutput(link(0), 1, 1, 1);
    sendOutput(link(1), 1, 1, 1);
    await Promise.resolve();
    expect([link(0).takenOutputs, link(1).takenOutputs]).toEqual([[], []]);
    call.gainRoom();
    expect([link(0).takenOutputs, link(1).takenOutputs]).toEqual([[1], [1]]);
  });

  test('say how the stream ended', () => {
    const { send, link, call } = serve();
    for (const [index, id] of ['s', 't'].entries()) {
      send(id, { value: 1, parameters: { stream_end: true } });
      link(index).sendOpened(id);
    }
    link(0).sendEnded(1);
    link(1).listener.onFrame({ kind: 'ended', outcome: 'failed', code: 'worker-lost', message: 'gone', outputs: 0 });
    link(1).listener.onClosed(undefined);
    expect(decoded(call.sent[0])).toMatchObject({
      errorMessage: '',
      parameters: { stream_id: 's', stream_outcome: 'done', stream_outputs: 1 },
    });
    expect(decoded(call.sent[1])).toMatchObject({
      errorMessage: 'worker-lost: gone [stream_id: t, stream_outcome: failed, stream_outputs: 0]',
      parameters: { stream_id: 't', stream_outcome: 'failed', stream_outputs: 0, stream_error: 'worker-lost' },
    });
    expect(call.ending).toBeUndefined();
  });
});

describe('back-pressure', () => {
  test('the call is not read while the stream has no credit for the next input', () => {
    const { send, link, requests } = serve();
    send('s', { value: 1 });
    link(0).sendOpened('s', { inputCredit: { messages: 2, bytes: 1000 } });
    send('s', { value: 2 });
    send('s', { value: 3 });
    expect([link(0).inputs.length, requests.isPaused]).toEqual([2, true]);
    link(0).listener.onFrame({ kind: 'accepted', input: 1, inputCredit: { messages: 1, bytes: 1000 } });
    expect([link(0).inputs.length, requests.isPaused]).toEqual([2, true]);
    link(0).listener.onFrame({ kind: 'accepted', input: 2, inputCredit: { messages: 2, bytes: 1000 } });
    expect([link(0).inputs.length, requests.isPaused, requests.keptBytes]).toEqual([3, false, 0]);
  });

  test('bytes count too', () => {
    const { send, link, requests } = serve();
    send('s', { value: 1 });
    link(0).sendOpened('s', { inputCredit: { messages: 8, bytes: 1 } });
    send('s', { value: 2 });
    expect([link(0).inputs.length, requests.isPaused]).toEqual([1, true]);
    link(0).listener.onFrame({ kind: 'accepted', input: 1 });
    expect([link(0).inputs.length, requests.isPaused]).toEqual([2, false]);
  });

  test('an input after a gap does not wait: the one that is missing must be read', () => {
    const { send, link, requests } = serve();
    send('s', { value: 1, parameters: { stream_sequence: 3 } });
    link(0).sendOpened('s', { inputCredit: { messages: 1, bytes: 1000 } });
    expect([link(0).inputs.length, requests.isPaused]).toEqual([1, false]);
  });
});

describe('refusals', () => {
  test.each([
    ['an id that is no text', { parameters: { stream_id: 7 } }, 'must be a string'],
    ['an id with other characters', { parameters: { stream_id: 'a b' } }, 'the stream id'],
    [
      'a sequence below 1',
      { value: 1, parameters: { stream_sequence: 0 } },
      "'stream_sequence' must be an int64 from 1",
    ],
    ['a sequence without an input', { parameters: { stream_sequence: 1 } }, 'no input tensors'],
    ['an end that is no flag', { parameters: { stream_end: 1 } }, "'stream_end' must be a bool"],
    ['a sequence of the other kind', { value: 1, parameters: { sequence_id: 5 } }, 'cannot be used with stream_id'],
    ['a name that streams may need', { value: 1, parameters: { stream_color: 'red' } }, 'is reserved'],
    ['requested outputs', { value: 1, outputs: ['y'] }, 'leave out the requested outputs'],
  ])('%s', (_what, sent: Sent, expected) => {
    const { send, call, gateway, requests } = serve();
    send('s', { id: 'a', ...sent });
    expect(call.texts[0]).toContain('a!invalid-request: ');
    expect(call.texts[0]).toContain(expected);
    expect([gateway.links.length, requests.keptBytes, call.ending]).toEqual([0, 0, undefined]);
  });

  test('more parameters than an open may have', () => {
    const { send, call, gateway, link } = serve();
    const parameters = { a: 'x'.repeat(8192), b: 'x'.repeat(8190) };
    send('s', { id: 'a', value: 1, parameters });
    link(0).sendOpened('s');
    send('s', { id: 'b', value: 1, parameters: { ...parameters, c: 1 } });
    expect(gateway.links.length).toBe(1);
    expect(call.texts).toEqual([
      'b!request-too-large: the parameters of the stream have more than the 16384 bytes allowed; send fewer [stream_id: s]',
    ]);
  });

  test('of the open answer its request; later ones are refused alike, until one says where to resume', () => {
    const { send, link, call, requests } = serve();
    send('s', { id: 'a', value: 1 });
    link(0).listener.onClosed(new InferenceError('too-many-streams', 'no more'));
    send('s', { id: 'b', value: 2 });
    expect(call.texts).toEqual([
      'a!too-many-streams: no more [stream_id: s]',
      'b!too-many-streams: no more [stream_id: s]',
    ]);
    expect(requests.keptBytes).toBe(0);
    send('s', { id: 'c', value: 1, parameters: { stream_resume_after: 0 } });
    link(1).sendOpened('s');
    expect(link(1).inputs.map(({ sequence }) => sequence)).toEqual([1]);
  });

  test('another model or other parameters than the stream was opened with', () => {
    const { send, link, call } = serve();
    send('s', { value: 1, parameters: { seed: 1 } });
    link(0).sendOpened('s');
    send('s', { id: 'b', value: 1, parameters: { seed: 1 } });
    send('s', { id: 'c', value: 1, parameters: { seed: 2 } });
    send('s', { id: 'd', value: 1, model: 'other' });
    expect(link(0).inputs.length).toBe(2);
    expect(call.texts.map((text) => text.slice(0, 18))).toEqual(['c!stream-conflict:', 'd!stream-conflict:']);
  });

  test('a client that resumed elsewhere is told, with the request that waits', () => {
    const { send, link, call } = serve();
    send('s', { value: 1 });
    link(0).sendOpened('s', { inputCredit: { messages: 1, bytes: 10 } });
    send('s', { id: 'b', value: 2 });
    link(0).listener.onClosed(new InferenceError('stream-superseded', 'elsewhere'));
    expect(call.texts).toEqual([
      '!stream-superseded: elsewhere [stream_id: s]',
      'b!stream-superseded: elsewhere [stream_id: s]',
    ]);
  });

  test('fail the call where its caller asks for a status', () => {
    const { send, link, call } = serve({ triton_grpc_error: 'true' });
    send('s', { value: 1 });
    link(0).listener.onClosed(new InferenceError('unknown-model', 'nobody'));
    expect(call.ending).toBe('nobody');
  });
});

describe('the end of a call', () => {
  test('by its client waits for the answers of the streams', () => {
    const { send, link, requests, call } = serve();
    send('s', { value: 1 });
    link(0).sendOpened('s');
    requests.end();
    expect([link(0).isFinishing, call.ending]).toEqual([true, undefined]);
    sendOutput(link(0), 1, 1, 5);
    link(0).listener.onClosed(undefined);
    expect([call.sent.length, call.ending]).toEqual([1, 'ended']);
  });

  test('tells of inputs that cannot be applied any more', () => {
    const { send, link, requests, call } = serve();
    send('s', { id: 'c', value: 1, parameters: { stream_sequence: 3 } });
    link(0).sendOpened('s', { acceptedInput: 1 });
    requests.end();
    link(0).listener.onClosed(undefined);
    expect(call.texts).toEqual([
      'c!sequence-gap: input 3 was not applied, because input 2 is missing; send both on another call [stream_id: s, stream_sequence: 3]',
    ]);
    expect(call.ending).toBe('ended');
  });

  test('by cancellation, or because the server drains, detaches the streams', () => {
    for (const isCancelled of [true, false]) {
      const { send, link, streams, call } = serve();
      send('s', { value: 1 });
      link(0).sendOpened('s');
      if (isCancelled) call.cancellation.cancel('cancelled');
      else streams.end();
      expect(link(0).isDetached).toBe(true);
      expect(call.ending).toMatch(isCancelled ? 'ended' : 'shutting down');
    }
  });
});
