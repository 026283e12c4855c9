import { InferenceError, neverCancelled, type Tensor } from '@millrace/protocol';
import { openMemoryStore } from '@millrace/store';
import { expect, test } from 'vitest';
import { CatalogueDouble } from '../catalogue/testing/catalogue-double.ts';
import { TrafficCatalogue } from '../catalogue/traffic/traffic-catalogue.ts';
import type { TrafficChange } from '../catalogue/traffic/traffic-policy.ts';
import { TrafficTable } from '../catalogue/traffic/traffic-table.ts';
import type { InferRequest } from './infer.ts';
import { Inference } from './inference.ts';
import type { KnownModels } from './known-models.ts';
import { silentObserver } from './observer.ts';
import { RetiringModels } from './retiring-models.ts';
import type { ServedModel } from './served-model.ts';
import { copySliceBytesMax, SlicedWork } from './sliced-work/sliced-work.ts';
import { HeldClock } from './testing/held-clock.ts';
import { inferRequest, type RequestText } from './testing/requests.ts';
import { NameResolution } from './traffic/name-resolution.ts';
import { type ShadowLimits, ShadowTraffic, shadowCaller } from './traffic/shadow-traffic.ts';
import type { Waiter } from './waiter.ts';

/** Receives requests whose name is resolved: the test gives their answers, and releases are counted. */
class RoutingDouble {
  readonly calls: {
    readonly request: InferRequest;
    readonly signal: Waiter['signal'];
    answer(...values: number[]): void;
    fail(error: InferenceError): void;
  }[] = [];
  readonly refusals: string[] = [];
  released = 0;

  begin(request: InferRequest, { signal, resolve, reject }: Waiter): void {
    this.calls.push({
      request,
      signal,
      answer: (...values) => {
        const outputs = [tensor('y', ...values)];
        const { model, version, id } = request.target;
        const release = (): void => {
          // As if the memory were reused.
          for (const { data } of outputs) data.fill(0);
          this.released += 1;
        };
        resolve({ model, version, id, outputs, release });
      },
      fail: reject,
    });
  }
}

function tensor(name: string, ...values: number[]): Tensor {
  const data = new Uint8Array(Float32Array.from(values).buffer);
  return { name, datatype: 'FP32', shape: [values.length], data };
}

const request = (overrides: Partial<RequestText> = {}): InferRequest =>
  inferRequest({ id: 'id-1', inputs: [tensor('x', 1, 2)], caller: 'somebody', ...overrides });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function trafficHarness(change: TrafficChange, limits: Partial<ShadowLimits> = {}) {
  const models = new CatalogueDouble('m').set('1', 'ready').set('2', 'ready').set('3', 'ready');
  const traffic = await TrafficTable.open({
    store: await openMemoryStore(),
    catalogue: models,
    onUnreadable: () => {},
  });
  if (Object.keys(change).length > 0) await traffic.changeTraffic('m', change);
  const inner = new RoutingDouble();
  const outcomes: string[] = [];
  const clock = new HeldClock();
  const shadows = new ShadowTraffic({
    infer: (copy, signal) => plane.inferResolved(copy, signal),
    deadlineAfter: (timeoutMs) => plane.deadlineAfter(timeoutMs),
    sliced: new SlicedWork(clock),
    limits: { requestsMax: 4, bytesMax: 1e6, comparedBytesMax: 1000, timeoutMs: 5000, ...limits },
    lowestPriority: () => 7,
    onOutcome: (model, version, outcome) => outcomes.push(`${model}:${version} ${outcome}`),
  });
  const draws: number[] = [];
  const holders = new Map<bigint | string, string>();
  const known = {
    readyVersions: (name: string) => models.readyVersions(name),
    takeModel: (name: string, version: string) =>
      ({
        view: { name, version },
        runner: { holds: ({ target }: InferRequest) => holders.get(target.sequence?.id ?? '') === version },
      }) as unknown as ServedModel,
  } as unknown as KnownModels;
  const plane: Inference = new Inference({
    names: new NameResolution({
      names: new TrafficCatalogue({ catalogue: models, traffic }),
      models: known,
      retiring: new RetiringModels(),
      random: () => draws.shift() ?? 0,
    }),
    shadows,
    models: known,
    routing: inner,
    loop: { inputMemoryFor: () => undefined },
    observer: { ...silentObserver, requestRefused: (code) => inner.refusals.push(code) },
    clock,
  });
  return { plane, inner, outcomes, shadows, draws, holders, traffic, clock };
}

const toShadow = (percent = 100): TrafficChange => ({ shadows: [{ version: '3', percent }] });

test('a request to a model without traffic settings is passed on unchanged', async () => {
  const { plane, inner } = await trafficHarness({});
  const sent = request({ version: '2' });
  void plane.infer(sent, neverCancelled);
  expect(inner.calls[0]?.request).toBe(sent);
});

test('a version or a label in the name becomes the version of the request', async () => {
  const { plane, inner } = await trafficHarness({ labels: new Map([['stable', '1']]) });
  for (const model of ['m@stable', 'm:2']) void plane.infer(request({ model }), neverCancelled);
  const plain = request();
  void plane.infer(plain, neverCancelled);
  expect(inner.calls.map((call) => `${call.request.target.model} ${call.request.target.version}`)).toEqual([
    'm 1',
    'm 2',
    'm ',
  ]);
  expect(inner.calls[2]?.request).toBe(plain);
});

test('a name that cannot be resolved is refused and counted', async () => {
  const { plane, inner } = await trafficHarness({});
  for (const [model, version, code] of [
    ['m@stable', '', 'unknown-model'],
    ['m:1', '2', 'invalid-request'],
  ] as const) {
    const refused = plane.infer(request({ model, version }), neverCancelled);
    await expect(refused).rejects.toEqual(expect.objectContaining({ code }));
  }
  expect(inner.calls).toHaveLength(0);
  expect(inner.refusals).toEqual(['unknown-model', 'invalid-request']);
});

test('requests are split by draws, steps of a sequence by their id', async () => {
  const split = [
    { version: '1', weight: 1 },
    { version: '2', weight: 1 },
  ];
  const { plane, inner, draws } = await trafficHarness({ split });
  draws.push(0.4, 0.6);
  void plane.infer(request(), neverCancelled);
  void plane.infer(request(), neverCancelled);
  expect(inner.calls.map((call) => call.request.target.version)).toEqual(['1', '2']);
  const versionsOf = (id: bigint): Set<string> => {
    const before = inner.calls.length;
    for (let step = 0; step < 5; step++) {
      draws.push(step / 5);
      const sequence = { id, isStart: step === 0, isEnd: step === 4 };
      void plane.infer(request({ sequence }), neverCancelled);
    }
    return new Set(inner.calls.slice(before).map((call) => call.request.target.version));
  };
  const all = Array.from({ length: 20 }, (_, id) => versionsOf(BigInt(id)));
  for (const versions of all) expect(versions.size).toBe(1);
  expect(new Set(all.flatMap((versions) => [...versions]))).toEqual(new Set(['1', '2']));
});

test('a sequence continues with the version that has its state, even if its label was moved, unless it names a version', async () => {
  const { plane, inner, holders, traffic } = await trafficHarness({ labels: new Map([['stable', '1']]) });
  const step = (model: string, isStart: boolean, version = ''): string => {
    void plane.infer(request({ model, version, sequence: { id: 5n, isStart, isEnd: false } }), neverCancelled);
    return inner.calls.at(-1)?.request.target.version ?? '';
  };
  expect(step('m@stable', true)).toBe('1');
  holders.set(5n, '1');
  await traffic.changeTraffic('m', { labels: new Map([['stable', '2']]), split: [{ version: '3', weight: 1 }] });
  expect([step('m@stable', false), step('m', false)]).toEqual(['1', '1']);
  expect([step('m:2', false), step('m', false, '2')]).toEqual(['2', '2']);
  expect([step('m@stable', true), step('m', true)]).toEqual(['2', '3']);
});

test('a copy is sent when its original has been answered, as another caller at the lowest priority', async () => {
  const { plane, inner, outcomes, clock } = await trafficHarness(toShadow());
  const inputs = [tensor('x', 1, 2)];
  const asked = plane.infer(request({ version: '1', inputs, deadlineAt: 50, priority: 1 }), neverCancelled);
  expect(inner.calls).toHaveLength(1);
  inner.calls[0]?.answer(5);
  const answer = await asked;
  answer.release();
  for (const { data } of inputs) data.fill(0);
  expect(inner.calls[1]?.request).toMatchObject({
    target: { model: 'm', version: '3', id: '' },
    inputs: [tensor('x', 1, 2)],
    origin: { deadlineAt: clock.now() + 5000, priority: 7, caller: shadowCaller },
  });
  expect(outcomes).toEqual([]);
  inner.calls[1]?.answer(5);
  await turn();
  expect(outcomes).toEqual(['m:3 equal']);
  expect(inner.released).toBe(2);
});

test('outcomes: a different answer, a failure, an answer too large to compare', async () => {
  const { plane, inner, outcomes } = await trafficHarness(toShadow(), { comparedBytesMax: 8 });
  const run = async (original: readonly number[], copy: (call: (typeof inner.calls)[0]) => void): Promise<void> => {
    const asked = plane.infer(request({ version: '1' }), neverCancelled);
    inner.calls.at(-1)?.answer(...original);
    (await asked).release();
    copy(inner.calls.at(-1) as (typeof inner.calls)[0]);
    await turn();
  };
  await run([5], (call) => call.answer(6));
  await run([5], (call) => call.fail(new InferenceError('model-full', 'full')));
  await run([5, 6, 7], (call) => call.answer(5, 6, 7));
  expect(outcomes).toEqual(['m:3 different', 'm:3 failed', 'm:3 unchecked']);
});

test('a request that fails has no copy, and no longer counts against the limit of copies', async () => {
  const { plane, inner, outcomes, shadows } = await trafficHarness(toShadow());
  const asked = plane.infer(request({ version: '1' }), neverCancelled);
  expect(shadows.requests).toBe(1);
  inner.calls[0]?.fail(new InferenceError('model-full', 'full'));
  await expect(asked).rejects.toEqual(expect.objectContaining({ code: 'model-full' }));
  await turn();
  expect(inner.calls).toHaveLength(1);
  expect(outcomes).toEqual([]);
  expect(shadows.requests).toBe(0);
});

test('copies over the limits of number and bytes are dropped and counted; requests are not', async () => {
  for (const limits of [{ requestsMax: 2 }, { bytesMax: 16 }]) {
    const { plane, inner, outcomes, shadows } = await trafficHarness(toShadow(), limits);
    for (let index = 0; index < 3; index++) void plane.infer(request({ version: '1' }), neverCancelled);
    expect(inner.calls).toHaveLength(3);
    expect(outcomes).toEqual(['m:3 dropped']);
    for (const call of inner.calls.slice()) call.answer(1);
    await turn();
    for (const call of inner.calls.slice(3)) call.answer(1);
    await turn();
    expect(shadows.requests).toBe(0);
    void plane.infer(request({ version: '1' }), neverCancelled);
    expect(shadows.requests).toBe(1);
  }
});

test('only the configured percentage is copied, never to the version that answers, and no step of a sequence', async () => {
  const { plane, inner, draws, shadows } = await trafficHarness(toShadow(30));
  draws.push(0.3, 0.29);
  void plane.infer(request({ version: '1' }), neverCancelled);
  expect(shadows.requests).toBe(0);
  void plane.infer(request({ version: '1' }), neverCancelled);
  expect(shadows.requests).toBe(1);
  void plane.infer(request({ version: '3' }), neverCancelled);
  void plane.infer(request(), neverCancelled);
  const sequence = { id: 1n, isStart: true, isEnd: true };
  void plane.infer(request({ version: '1', sequence }), neverCancelled);
  expect(shadows.requests).toBe(1);
  expect(inner.calls).toHaveLength(5);
});

test('copies in flight are cancelled when the server shuts down', async () => {
  const { plane, inner, shadows } = await trafficHarness(toShadow());
  const asked = plane.infer(request({ version: '1' }), neverCancelled);
  inner.calls[0]?.answer(1);
  await asked;
  let reason = '';
  inner.calls[1]?.signal.onCancel((cancelled) => {
    reason = cancelled;
  });
  shadows.close();
  expect(reason).toBe('cancelled');
});

test('a large original is copied in slices, and a copy that is not done in time is dropped', async () => {
  const data = new Uint8Array(2 * copySliceBytesMax).fill(1);
  const inputs = [{ name: 'x', datatype: 'UINT8' as const, shape: [1, data.length], data }];
  const { plane, inner, outcomes, shadows, clock } = await trafficHarness(toShadow(), { bytesMax: 1e9 });
  void plane.infer(request({ version: '1', inputs }), neverCancelled);
  clock.endTurn();
  inner.calls[0]?.answer();
  await turn();
  data.fill(0);
  expect(inner.calls[1]?.request.inputs[0]?.data.every((byte) => byte === 1)).toBe(true);
  void plane.infer(request({ version: '1', inputs }), neverCancelled);
  clock.endOneTurn();
  inner.calls[2]?.answer();
  await turn();
  clock.endTurn();
  expect(inner.calls).toHaveLength(3);
  expect(outcomes).toEqual(['m:3 dropped']);
  expect(shadows.requests).toBe(1);
});
