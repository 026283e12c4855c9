import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { RpcError } from '@millrace/http';
import { type CancelSignal, InferenceError } from '@millrace/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import type { DataPlane, InferAnswer, InferRequest } from '../../data-plane/infer.ts';
import type { InferStream, StreamInput, StreamOptions } from '../../data-plane/streams/infer-stream.ts';
import { StreamSession } from '../../data-plane/streams/stream-session.ts';
import {
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { CallerRule } from '../caller.ts';
import { catalogueOf, viewOf } from '../rest/testing/echo-double.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { grpcDefaults } from './config.ts';
import { encodeStreamResponse } from './encode-stream-response.ts';
import { GrpcInferOperation } from './infer.ts';
import { type InferMessage, InferMessageReader } from './infer-message.ts';
import { StreamInferOperation } from './stream-infer.ts';
import { CallDouble, RequestsDouble } from './testing/call-double.ts';
import { type ServedEdge, serveEdge, streamed } from './testing/served-edge.ts';

interface Held {
  readonly request: InferRequest;
  readonly signal: CancelSignal;
  readonly answer: () => Promise<void>;
  readonly refuse: (error: InferenceError) => Promise<void>;
}

/** Answers when the test says so. */
class HeldDataPlane implements DataPlane {
  readonly held: Held[] = [];
  releases = 0;

  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input> {
    return new StreamSession({ ...options, inferMany: (request, signal) => this.infer(request, signal) });
  }

  deadlineAfter(): number {
    return Number.POSITIVE_INFINITY;
  }

  infer(request: InferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      const turn = () => new Promise<void>((done) => setImmediate(done));
      const { inputs } = request;
      const { model, id } = request.target;
      const release = () => {
        this.releases += 1;
      };
      this.held.push({
        request,
        signal,
        answer: () => {
          resolve({ model, version: '1', id, outputs: inputs, release });
          return turn();
        },
        refuse: (error) => {
          reject(error);
          return turn();
        },
      });
    });
  }

  noteRefusal(): void {}
}

const reader = new InferMessageReader(grpcDefaults);

function message(id: string, sequence = 0n): InferMessage {
  const x = { name: 'x', datatype: 'UINT8', shape: [1n, 2n] };
  const parameterChoice = { case: 'int64Param' as const, value: sequence };
  const parameters = sequence === 0n ? {} : { sequence_id: { parameterChoice } };
  const init = { modelName: 'm', id, inputs: [x], rawInputContents: [Uint8Array.of(1, 2)], parameters };
  return reader.read(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init)));
}

function open(metadata: Readonly<Record<string, string>> = {}, requestsMax = 8, slotWaitBytesMax = 1000) {
  const plane = new HeldDataPlane();
  const operation = new GrpcInferOperation({
    dataPlane: plane,
    catalogue: catalogueOf(viewOf('m')),
    config: grpcDefaults,
    callers: new CallerRule(),
    slices: new SliceQueue(),
  });
  const errorFrom = (error: unknown) => new RpcError('internal', (error as Error).message);
  const limits = { requestsMax, slotWaitRequestsMax: 6, slotWaitBytesMax };
  const streams = new StreamInferOperation({ operation, limits, errorFrom });
  const requests = new RequestsDouble();
  const call = new CallDouble(metadata);
  streams.serve(requests, call);
  return { plane, streams, requests, call, held: (index: number) => plane.held[index] as Held };
}

test('answers leave in the order of the requests, whatever is ready first', async () => {
  const { requests, call, held } = open();
  expect(call.isStarted).toBe(true);
  for (const id of ['a', 'b', 'c']) requests.push(message(id));
  await held(2).answer();
  await held(1).answer();
  expect(call.texts).toEqual([]);
  await held(0).answer();
  expect(call.texts).toEqual(['a', 'b', 'c']);
  expect(call.ending).toBeUndefined();
  expect(held(0).request.origin.caller).toBe('10.0.0.7');
});

test('a refusal is an answer in its place, with the id of its request, and the stream continues', async () => {
  const { requests, call, held } = open();
  for (const id of ['a', 'b']) requests.push(message(id));
  await held(0).refuse(new InferenceError('model-full', 'no room'));
  await held(1).answer();
  expect(call.texts).toEqual(['a!no room', 'b']);
});

test('a request that cannot be read is refused in its place', async () => {
  const { requests, call, held } = open();
  requests.push(message('a'));
  requests.push(new InferenceError('request-too-large', 'too many inputs'));
  await held(0).answer();
  expect(call.texts).toEqual(['a', '!too many inputs']);
});

test('on request the call itself fails, after the answers before', async () => {
  const { requests, call, plane, held } = open({ triton_grpc_error: 'true' });
  for (const id of ['a', 'b', 'c']) requests.push(message(id));
  await held(2).answer();
  await held(1).refuse(new InferenceError('model-full', 'no room'));
  expect(call.ending).toBeUndefined();
  await held(0).answer();
  expect(call.texts).toEqual(['a']);
  expect(call.ending).toBe('no room');
  expect(plane.releases).toBe(1);
  expect(held(2).signal.reason).toBe('cancelled');
});

test('after its last request a stream ends when all is answered', async () => {
  const { requests, call, held } = open();
  requests.push(message('a'));
  requests.end();
  expect(call.ending).toBeUndefined();
  await held(0).answer();
  expect(call.ending).toBe('ended');
  const empty = open();
  empty.requests.end();
  expect(empty.call.ending).toBe('ended');
});

test('a stream with too many requests in flight is not read until one is answered', async () => {
  const { requests, call, held } = open({}, 2);
  requests.push(message('a'));
  expect(requests.isPaused).toBe(false);
  requests.push(message('b'));
  expect(requests.isPaused).toBe(true);
  await held(1).answer();
  expect(requests.isPaused).toBe(true);
  await held(0).answer();
  expect(requests.isPaused).toBe(false);
  expect(call.texts).toEqual(['a', 'b']);
});

test('a caller that does not read gets no more answers, and its stream is not read either', async () => {
  const { requests, call, held } = open({}, 2);
  call.hasRoom = false;
  requests.push(message('a'));
  await held(0).answer();
  expect(call.texts).toEqual(['a']);
  requests.push(message('b'));
  requests.push(message('c'));
  await held(1).answer();
  await held(2).answer();
  expect(call.texts).toEqual(['a']);
  expect(requests.isPaused).toBe(true);
  call.gainRoom();
  expect(call.texts).toEqual(['a', 'b', 'c']);
  expect(requests.isPaused).toBe(false);
  call.hasRoom = false;
  for (const id of ['d', 'e']) requests.push(message(id));
  await held(3).answer();
  await held(4).answer();
  expect(call.texts).toEqual(['a', 'b', 'c', 'd']);
  call.gainRoom();
  expect(call.texts).toEqual(['a', 'b', 'c', 'd', 'e']);
});

describe('while a sequence waits for a slot', () => {
  test('its stream is still read, so that sequences with a slot can end', async () => {
    const { requests, call, held } = open({}, 2);
    requests.push(message('waits', 1n));
    held(0).request.target.sequence?.onSlotWait?.();
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      requests.push(message(id));
      await held(index + 1).answer();
      expect(requests.isPaused).toBe(false);
    }
    expect(call.texts).toEqual([]);
    await held(0).answer();
    expect(call.texts).toEqual(['waits', 'a', 'b', 'c']);
  });

  test('a stream that was paused before that was known is resumed', () => {
    const { requests, held } = open({}, 2);
    for (const id of ['waits', 'waits too']) requests.push(message(id, 1n));
    expect(requests.isPaused).toBe(true);
    held(0).request.target.sequence?.onSlotWait?.();
    expect(requests.isPaused).toBe(false);
  });

  test('it has no more answerable requests in flight than otherwise', async () => {
    const { requests, held } = open({}, 2);
    requests.push(message('waits', 1n));
    held(0).request.target.sequence?.onSlotWait?.();
    for (const id of ['a', 'b']) requests.push(message(id));
    expect(requests.isPaused).toBe(true);
    await held(1).answer();
    expect(requests.isPaused).toBe(false);
  });

  test('it is paused as usual when it does not read', async () => {
    const { requests, call, held } = open({}, 2);
    call.hasRoom = false;
    requests.push(message('first'));
    await held(0).answer();
    requests.push(message('waits', 1n));
    held(1).request.target.sequence?.onSlotWait?.();
    requests.push(message('a'));
    expect(requests.isPaused).toBe(true);
    call.gainRoom();
    expect(requests.isPaused).toBe(false);
  });

  test('and too many requests arrive, that sequence is refused, and the others are answered', async () => {
    const { requests, call, plane, held } = open({}, 2);
    for (const id of ['waits', 'waits too']) {
      requests.push(message(id, 1n));
      plane.held.at(-1)?.request.target.sequence?.onSlotWait?.();
    }
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      requests.push(message(id));
      await held(index + 2).answer();
    }
    expect(call.texts).toEqual([]);
    requests.push(message('d'));
    const refusal = expect.stringMatching(
      /^waits(?: too)?!the sequence has no slot, .* 6 requests \(streamSlotWaitReq/,
    );
    expect(call.texts).toEqual([refusal, refusal, 'a', 'b', 'c']);
    expect([0, 1, 5].map((index) => held(index).signal.reason)).toEqual(['cancelled', 'cancelled', undefined]);
    // Outcomes of the cancelled ones come too late, even answers.
    await held(0).refuse(new InferenceError('cancelled', 'cancelled'));
    await held(1).answer();
    expect(plane.releases).toBe(1);
    await held(5).answer();
    expect(call.texts.at(-1)).toBe('d');
  });

  test('and the answers behind it take too much memory, likewise', async () => {
    const { requests, call, held } = open({}, 2, 4);
    requests.push(message('waits', 1n));
    held(0).request.target.sequence?.onSlotWait?.();
    requests.push(message('a'));
    await held(1).answer();
    requests.push(message('b'));
    await held(2).answer();
    expect(call.texts).toEqual([expect.stringMatching(/^waits!.* 4 bytes of answers/), 'a', 'b']);
  });
});

test('a caller that disconnects cancels everything, and late answers are released', async () => {
  const { requests, call, plane, held } = open();
  for (const id of ['a', 'b']) requests.push(message(id));
  await held(1).answer();
  call.cancellation.cancel('cancelled');
  expect(held(0).signal.reason).toBe('cancelled');
  expect(call.ending).toBe('ended');
  expect(plane.releases).toBe(1);
  await held(0).answer();
  expect(plane.releases).toBe(2);
  expect(call.texts).toEqual([]);
});

test('when the server drains, accepted requests are answered and the stream fails', async () => {
  const { requests, call, streams, held } = open();
  requests.push(message('a'));
  streams.end();
  expect(requests.isPaused).toBe(true);
  await held(0).answer();
  expect(call.texts).toEqual(['a']);
  expect(call.ending).toBe('the server is shutting down; open the stream on another one');
});

test('every response says that it is the last of its request', () => {
  const outputs = [{ name: 'y', datatype: 'UINT8', shape: [1, 5000], data: new Uint8Array(5000).fill(7) }] as const;
  const response = { model: 'm', version: '1', id: 'i', outputs };
  const read = (bytes: readonly Uint8Array[]) => fromBinary(ModelStreamInferResponseSchema, Buffer.concat(bytes));
  const answered = read(encodeStreamResponse({ errorMessage: '', response, isFinal: true }));
  expect(answered.errorMessage).toBe('');
  expect(answered.inferResponse).toMatchObject({ modelName: 'm', modelVersion: '1', id: 'i' });
  expect(answered.inferResponse?.rawOutputContents[0]?.every((byte) => byte === 7)).toBe(true);
  const refused = read(
    encodeStreamResponse({
      errorMessage: 'Größe '.repeat(40),
      response: { model: '', version: '', id: 'i', outputs: [] },
      isFinal: true,
    }),
  );
  expect(refused.errorMessage).toBe('Größe '.repeat(40));
  expect(refused.inferResponse?.id).toBe('i');
  for (const { inferResponse } of [answered, refused]) {
    expect(inferResponse?.parameters.triton_final_response?.parameterChoice).toEqual({
      case: 'boolParam',
      value: true,
    });
  }
});

describe('behind a socket', () => {
  let served: ServedEdge | undefined;
  afterEach(async () => {
    await served?.server.close();
  });

  test('a browser’s stream: requests in, answers out, limits kept', async () => {
    served = await serveEdge();
    const x = { name: 'x', datatype: 'FP32', shape: ['1', '2'], contents: { fp32Contents: [1, 2] } };
    const requests = [
      { modelName: 'm', id: 'a', inputs: [x] },
      { modelName: 'm', id: 'b', inputs: [x], outputs: [{ name: 'nothing' }] },
      { modelName: 'm', id: 'c', inputs: [x, x, x] },
      { modelName: 'm', id: 'd', inputs: [x] },
    ];
    const texts: string[] = [];
    for await (const answer of streamed(served.url, 'inference.GRPCInferenceService/ModelStreamInfer', ...requests)) {
      const { errorMessage, inferResponse } = answer as { errorMessage?: string; inferResponse?: { id?: string } };
      texts.push(
        inferResponse === undefined ? JSON.stringify(answer) : `${inferResponse.id ?? ''} ${errorMessage ?? ''}`,
      );
    }
    expect(texts).toEqual([
      'a ',
      "b unexpected inference output 'nothing'",
      ' the request has more than 2 inputs; send fewer',
      'd ',
      '{}',
    ]);
    expect(served.dataPlane.releases).toBe(2);
  });
});
