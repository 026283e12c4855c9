import { type CallMessage, type CancelSignal, InferenceError, type Tensor, type ToWorker } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { InferAnswer, InferRequest } from './infer.ts';
import { SlicedWork } from './sliced-work/sliced-work.ts';
import { HeldClock } from './testing/held-clock.ts';
import { servedModel } from './testing/models.ts';
import { inferRequest, type RequestText } from './testing/requests.ts';
import { CountedRegion, ScriptedLane } from './testing/scripted-lane.ts';
import { ValidInferRequest } from './valid-request.ts';
import { callDepthMax, callsPerBatchMax, WorkerCalls } from './worker-calls.ts';

const tensor = (name: string, value: number): Tensor => ({
  name,
  datatype: 'INT32',
  shape: [1, 1],
  data: new Uint8Array(Int32Array.of(value).buffer),
});

function requestOf(overrides: Partial<RequestText> = {}): ValidInferRequest {
  const model = servedModel([{ name: 'x', datatype: 'INT32', shape: [-1, 1] }], [], { name: 'flow' });
  const given = { model: 'flow', id: 'r', inputs: [tensor('x', 1)], ...overrides };
  return ValidInferRequest.from(inferRequest(given), model);
}

interface Inner {
  readonly request: InferRequest;
  readonly signal: CancelSignal;
  readonly resolve: (answer: InferAnswer) => void;
  readonly reject: (error: Error) => void;
}

function callsHarness() {
  const inner: Inner[] = [];
  const clock = new HeldClock();
  const lane = new ScriptedLane();
  const link = lane.open(() => {});
  const calls = new WorkerCalls({
    infer: (request, signal) =>
      new Promise<InferAnswer>((resolve, reject) => {
        inner.push({ request, signal, resolve, reject });
        signal.onCancel((reason) => reject(new InferenceError(reason, 'given up')));
      }),
    clock,
    sliced: new SlicedWork(clock),
  });
  let count = 0;
  const begin = (
    requests: readonly ValidInferRequest[],
    overrides: Partial<CallMessage> = {},
    deadlineAt = Number.POSITIVE_INFINITY,
  ) => {
    count += 1;
    const region = new CountedRegion(new Uint8Array(8));
    const message: CallMessage = {
      kind: 'call',
      call: count,
      batch: 1,
      model: 'inner',
      version: '2',
      inputs: [tensor('x', 5)],
      outputs: ['y'],
      timeoutMs: Number.POSITIVE_INFINITY,
      region,
      ...overrides,
    };
    calls.begin(message, { link, requests, deadlineAt });
    return { message, region };
  };
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  const said = () => link.sent.filter((message): message is ToWorker => message.kind !== 'dispatch');
  return { inner, clock, calls, begin, turn, said, lane };
}

describe('WorkerCalls', () => {
  test('a call is a request to its model, on behalf of the request that makes it', async () => {
    const { begin, inner, turn, said, clock } = callsHarness();
    const { region } = begin([requestOf({ caller: 'ann', priority: 2 })], { timeoutMs: 500 }, clock.now() + 80);
    expect(inner[0]?.request).toMatchObject({
      target: { model: 'inner', version: '2', outputs: ['y'] },
      origin: { caller: 'ann', priority: 2, deadlineAt: clock.now() + 80, trail: ['flow'] },
    });
    let releases = 0;
    const release = () => {
      releases += 1;
    };
    expect(region.releases).toBe(0);
    inner[0]?.resolve({ model: 'inner', version: '2', id: '', outputs: [tensor('y', 9)], release });
    await turn();
    expect(said()).toMatchObject([
      { kind: 'call-answered', call: 1, batch: 1, outputs: [{ name: 'y', shape: [1, 1] }] },
    ]);
    expect([region.releases, releases]).toEqual([1, 1]);
  });

  test('an answer that no message can hold fails the call, and no memory is taken for it', async () => {
    const { begin, inner, turn, said } = callsHarness();
    const { region } = begin([requestOf()]);
    let releases = 0;
    const release = () => {
      releases += 1;
    };
    // All outputs are the same memory: together they have 1 GiB and a byte more.
    const mebibyte = new Uint8Array(2 ** 20);
    const outputs = Array.from({ length: 1025 }, (_, index): Tensor => {
      const data = index < 1024 ? mebibyte : new Uint8Array(1);
      return { name: `y${index}`, datatype: 'UINT8', shape: [1, data.length], data };
    });
    inner[0]?.resolve({ model: 'inner', version: '2', id: '', outputs, release });
    await turn();
    const limit = 'exceeds the longest message to a worker, 1073741824 bytes; call the model with fewer rows';
    expect(said()).toEqual([
      { kind: 'call-failed', call: 1, code: 'unsupported', message: `an answer of 1073741832 bytes ${limit}` },
    ]);
    expect([region.releases, releases]).toEqual([1, 1]);
  });

  test('a call of a batch with several callers has no caller, and the priority of its most urgent request', () => {
    const { begin, inner } = callsHarness();
    begin([requestOf({ caller: 'ann', priority: 3 }), requestOf({ caller: 'bob', priority: 2 }), requestOf()]);
    expect(inner[0]?.request).toMatchObject({
      origin: { caller: '', priority: 2, deadlineAt: Number.POSITIVE_INFINITY },
    });
  });

  test('a failure is passed on with its code, message and retry delay', async () => {
    const { begin, inner, turn, said } = callsHarness();
    const { region } = begin([requestOf()]);
    inner[0]?.reject(new InferenceError('model-full', 'too many', { retryAfterMs: 7 }));
    await turn();
    expect(said()).toEqual([
      { kind: 'call-failed', call: 1, code: 'model-full', message: 'too many', retryAfterMs: 7 },
    ]);
    expect(region.releases).toBe(1);
  });

  test('an unknown model is reported with who calls it', async () => {
    const { begin, inner, turn, said } = callsHarness();
    begin([requestOf({ trail: ['outer'] })], { model: 'nobody' });
    inner[0]?.reject(new InferenceError('unknown-model', "Request for unknown model: 'nobody' is not found"));
    await turn();
    expect(said()).toMatchObject([
      {
        code: 'unknown-model',
        message:
          "'outer' calls 'flow' calls model 'nobody', which is not served: Request for unknown model: 'nobody' is not found",
      },
    ]);
  });

  test('calls are cancelled when their batch ends, and nothing more is sent for them', async () => {
    const { begin, inner, calls, turn, said } = callsHarness();
    const one = begin([requestOf()]);
    const two = begin([requestOf()]);
    calls.batchEnded(1);
    calls.batchEnded(1);
    await turn();
    expect(inner.map(({ signal }) => signal.reason)).toEqual(['cancelled', 'cancelled']);
    expect(said()).toEqual([]);
    expect([one.region.releases, two.region.releases]).toEqual([1, 1]);
  });

  test('a cancelled call is cancelled alone, and its failure is sent', async () => {
    const { begin, inner, calls, turn, said } = callsHarness();
    begin([requestOf()]);
    begin([requestOf()]);
    calls.cancelled({ kind: 'call-cancelled', call: 2, batch: 1 });
    calls.cancelled({ kind: 'call-cancelled', call: 99, batch: 1 });
    await turn();
    expect(inner.map(({ signal }) => signal.reason)).toEqual([undefined, 'cancelled']);
    expect(said()).toMatchObject([{ kind: 'call-failed', call: 2, code: 'cancelled' }]);
  });

  test('a model must not call itself, directly or through others', () => {
    const { begin, said, inner } = callsHarness();
    const { region } = begin([requestOf()], { model: 'flow' });
    begin([requestOf({ trail: ['outer', 'middle'] })], { model: 'outer' });
    expect(inner).toHaveLength(0);
    expect(region.releases).toBe(1);
    expect(said()).toMatchObject([
      {
        code: 'inference-failed',
        message: 'a model must not call itself, directly or through others: flow calls flow',
      },
      {
        code: 'inference-failed',
        message: 'a model must not call itself, directly or through others: outer calls middle calls flow calls outer',
      },
    ]);
  });

  test('calls are nested no deeper than callDepthMax', () => {
    const { begin, said, inner } = callsHarness();
    const trail = Array.from({ length: callDepthMax }, (_, index) => `m${index}`);
    begin([requestOf({ trail: trail.slice(1) })]);
    expect(inner).toHaveLength(1);
    begin([requestOf({ trail })]);
    expect(inner).toHaveLength(1);
    expect(said()).toMatchObject([{ code: 'inference-failed', message: expect.stringMatching(/\(callDepthMax\)/) }]);
  });

  test('a batch makes no more calls than callsPerBatchMax', () => {
    const { begin, said, inner } = callsHarness();
    for (let call = 0; call <= callsPerBatchMax; call++) begin([requestOf()]);
    expect(inner).toHaveLength(callsPerBatchMax);
    expect(said()).toMatchObject([
      { call: callsPerBatchMax + 1, message: expect.stringMatching(/\(callsPerBatchMax\)/) },
    ]);
    begin([requestOf()], { batch: 2 });
    expect(inner).toHaveLength(callsPerBatchMax + 1);
  });
});
