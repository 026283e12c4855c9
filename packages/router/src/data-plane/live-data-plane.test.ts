import { Cancellation, InferenceError, neverCancelled } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { showState } from '../catalogue/testing/show-state.ts';
import { AnswerFlow } from './answer-flow.ts';
import { bringBackAttemptsMax } from './demand.ts';
import { ServedModel } from './served-model.ts';
import { servedModel, testPolicy } from './testing/models.ts';
import { PlaneHarness, type Sent } from './testing/plane-harness.ts';
import { inferRequest } from './testing/requests.ts';
import type { CountedRegion, ScriptedLink } from './testing/scripted-lane.ts';

/** Nothing is waiting, nothing is open, and all memory was released once. */
function expectAllSettled(harness: PlaneHarness): void {
  expect(harness.lane.releases()).toEqual(harness.lane.regions.map(() => 1));
  expect(harness.metric('millrace_queue_requests')).toBe(0);
  expect(harness.metric('millrace_outstanding_requests')).toBe(0);
}

test('requests of one turn share a batch, and its memory is released when the last of them has used its rows', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const [first, second] = [harness.send([1, 2]), harness.send([3])];
  await harness.turn();
  expect(link.inFlight.map(({ inputs }) => inputs[0]?.shape)).toEqual([[3, 1]]);
  const region = link.answers();
  expect([await first.outcome, await second.outcome]).toEqual(['answered 1 2', 'answered 3']);
  expect(region.releases).toBe(0);
  first.answer?.release();
  expect(region.releases).toBe(0);
  second.answer?.release();
  expectAllSettled(harness);
});

test('a request that is cancelled while it waits is refused and never sent', async () => {
  const harness = new PlaneHarness();
  const sent = harness.send([1]);
  await harness.turn();
  expect(harness.metric('millrace_queue_requests')).toBe(1);
  sent.cancellation.cancel('cancelled');
  await harness.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(harness.metric('millrace_abandoned_requests_total', ',reason="cancelled"')).toBe(1);
  expect(harness.metric('millrace_saved_rows_total')).toBe(1);
  const link = harness.worker(1);
  await harness.turn();
  expect(link.sent).toEqual([]);
  expectAllSettled(harness);
});

test('a signal that was cancelled before the call refuses the request', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const cancellation = new Cancellation();
  cancellation.cancel('cancelled');
  const sent = harness.sendWith(cancellation, [1]);
  await harness.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(link.sent).toEqual([]);
  expectAllSettled(harness);
});

test('a late answer to a cancelled request is released at once, and the run is counted', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const sent = harness.send([1, 2]);
  await harness.turn();
  sent.cancellation.cancel('cancelled');
  await harness.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(link.sent.at(-1)).toEqual({ kind: 'cancel', batch: link.inFlight[0]?.batch });
  const region = link.answers();
  expect(region.releases).toBe(1);
  expect(harness.metric('millrace_batch_rows_sum')).toBe(2);
  expectAllSettled(harness);
});

test('a batch that its worker skipped is counted as saved, and not as run', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const sent = harness.send([1, 2, 3]);
  await harness.turn();
  sent.cancellation.cancel('cancelled');
  await harness.turn();
  link.fails('cancelled', 'skipped');
  expect(harness.metric('millrace_skipped_batches_total')).toBe(1);
  expect(harness.metric('millrace_saved_rows_total')).toBe(3);
  expect(harness.metric('millrace_batch_rows_sum')).toBe(0);
  expectAllSettled(harness);
});

test('cancelling a request in a shared batch does not affect the others', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const [first, second, third] = [harness.send([1]), harness.send([2]), harness.send([3])];
  await harness.turn();
  second.cancellation.cancel('cancelled');
  await harness.turn();
  expect(await second.outcome).toBe('cancelled');
  expect(link.sent.map(({ kind }) => kind)).toEqual(['dispatch']);
  link.answers();
  expect([await first.outcome, await third.outcome]).toEqual(['answered 1', 'answered 3']);
  first.answer?.release();
  third.answer?.release();
  expectAllSettled(harness);
});

test('a failed batch is tried one by one, and only the request that fails alone is refused', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const [first, second] = [harness.send([1]), harness.send([2])];
  await harness.turn();
  link.fails('inference-failed', 'an index is out of range');
  await harness.turn();
  link.fails('inference-failed', 'an index is out of range');
  await harness.turn();
  link.answers();
  expect([await first.outcome, await second.outcome]).toEqual(['inference-failed', 'answered 2']);
  second.answer?.release();
  expectAllSettled(harness);
});

test('requests of a worker that exited are answered once by another', async () => {
  const harness = new PlaneHarness();
  const doomed = harness.worker(1);
  const sent = harness.send([7]);
  await harness.turn();
  doomed.dies();
  await harness.turn();
  expect(harness.metric('millrace_queue_requests')).toBe(1);
  expect(sent.result).toBeUndefined();
  const successor = harness.worker(1);
  await harness.turn();
  successor.answers();
  expect(await sent.outcome).toBe('answered 7');
  sent.answer?.release();
  expectAllSettled(harness);
});

test('a batch is sent before its worker is told that it serves the model no longer', async () => {
  const harness = new PlaneHarness({ rowsMax: 1, queueRequestsMax: 1 });
  const link = harness.worker(1);
  const sent = harness.send([7]);
  // The queue is full: the first request is dispatched at once, and not at the end of the turn.
  harness.send([8]);
  await Promise.resolve();
  harness.plane.workers.workerUnserves(1, harness.model);
  expect(link.inFlight).toHaveLength(1);
  link.answers();
  expect(await sent.outcome).toBe('answered 7');
  sent.answer?.release();
});

test('a request on which two workers crash is refused as poison, and its neighbour is answered', async () => {
  const harness = new PlaneHarness();
  const [poison, neighbour] = [harness.send([666]), harness.send([1])];
  harness.worker(1).dies();
  await harness.turn();
  harness.worker(1).dies();
  await harness.turn();
  expect(await poison.outcome).toBe('poison-request');
  const last = harness.worker(1);
  await harness.turn();
  last.answers();
  expect(await neighbour.outcome).toBe('answered 1');
  neighbour.answer?.release();
  expectAllSettled(harness);
});

test('an answer that cannot be split into rows is released, and each request gets a run of its own', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const sent = [harness.send([1]), harness.send([2])];
  await harness.turn();
  link.answers([{ index: 0, shape: [1, 1], data: new Uint8Array(4) }]);
  for (const { outcome } of sent) {
    await harness.turn();
    link.answers();
    await outcome;
  }
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2']);
  for (const { answer } of sent) answer?.release();
  expectAllSettled(harness);
});

test('an answer to an unknown batch is released and otherwise ignored', () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const region = harness.lane.region(4);
  link.says({ kind: 'answered', batch: 99, outputs: [], region, runMicros: 1 });
  expect(region.releases).toBe(1);
});

test('a deadline that passes while a request waits refuses it, and it never runs', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const [running, waiting] = [harness.send([1]), harness.send([2, 3, 4, 5, 6, 7, 8, 9], 50)];
  await harness.turn();
  harness.clock.advance(49);
  await harness.turn();
  expect(waiting.result).toBeUndefined();
  harness.clock.advance(1);
  expect(await waiting.outcome).toBe('deadline-exceeded');
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  await harness.turn();
  expect(link.sent.filter(({ kind }) => kind === 'dispatch')).toHaveLength(1);
  running.answer?.release();
  expectAllSettled(harness);
});

test('a run over its time limit kills the worker and fails the request, but not those queued behind it', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1, 2);
  const hung = harness.send([1]);
  await harness.turn();
  const behind = harness.send([2]);
  await harness.turn();
  harness.clock.advance(testPolicy.runMsMax - 1);
  expect(link.calls).toEqual([]);
  harness.clock.advance(1);
  expect(link.calls).toEqual(['kill']);
  expect(hung.result).toBeUndefined();
  link.dies();
  await harness.turn();
  expect(await hung.outcome).toBe('run-time-limit');
  const successor = harness.worker(1);
  await harness.turn();
  successor.answers();
  expect(await behind.outcome).toBe('answered 2');
  behind.answer?.release();
  expectAllSettled(harness);
});

/** Gives the model a runner that calls the queue only when the returned function is called. */
function holdByRunner(harness: PlaneHarness): () => void {
  let begin: () => void = () => {};
  harness.model.runner = {
    async run(request, signal) {
      await new Promise<void>((resolve) => {
        begin = resolve;
      });
      return harness.plane.queue.run(request, signal);
    },
  };
  return () => begin();
}

test('a drain and a retirement let a runner finish what it holds, including parts that start later', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const begin = holdByRunner(harness);
  const sent = harness.send([1]);
  const ended: string[] = [];
  void harness.plane.roster.retire(harness.model).then(() => ended.push('retired'));
  void harness.plane.drain().then(() => ended.push('drained'));
  const late = harness.send([2]);
  await harness.turn();
  expect(late.result).toBe('draining');
  expect(ended).toEqual([]);
  begin();
  await harness.turn();
  await harness.turn();
  link.answers();
  await harness.turn();
  expect(sent.result).toBe('answered 1');
  await harness.turn();
  expect(new Set(ended)).toEqual(new Set(['retired', 'drained']));
});

test('a drain that waits for a runner also refuses requests to models without one', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const begin = holdByRunner(harness);
  const sent = harness.send([1]);
  const drained = harness.plane.drain();
  harness.model.runner = undefined;
  const late = harness.send([2]);
  await harness.turn();
  expect(late.result).toBe('draining');
  begin();
  await harness.turn();
  await harness.turn();
  link.answers();
  expect(await sent.outcome).toBe('answered 1');
  sent.answer?.release();
  await harness.turn();
  await drained;
  expectAllSettled(harness);
});

test('a drain refuses new requests and ends with the last answer', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const running = harness.send([1]);
  await harness.turn();
  let isDrained = false;
  const drained = harness.plane.drain().then(() => {
    isDrained = true;
  });
  const late = harness.send([2]);
  await harness.turn();
  expect(await late.outcome).toBe('draining');
  expect(isDrained).toBe(false);
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  await harness.turn();
  await drained;
  running.answer?.release();
  expectAllSettled(harness);
});

test('a request that killed the last worker of its model is refused with that cause, one that waited without', async () => {
  const harness = new PlaneHarness({ rowsMax: 1 });
  const link = harness.worker(1);
  const refusalOf = (value: number): Promise<string> => {
    const data = new Uint8Array(Int32Array.of(value).buffer);
    const request = inferRequest({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data }] });
    return harness.plane.inference.infer(request, new Cancellation()).then(
      () => 'answered',
      ({ code, cause }: InferenceError) => `${code}, cause: ${cause instanceof InferenceError ? cause.code : 'none'}`,
    );
  };
  const deadly = refusalOf(1);
  const waiting = refusalOf(2);
  await harness.turn();
  link.dies();
  harness.plane.roster.remove(harness.model);
  await harness.turn();
  expect(await deadly).toBe('model-not-ready, cause: worker-lost');
  expect(await waiting).toBe('model-not-ready, cause: none');
  expectAllSettled(harness);
});

test('a removed model refuses waiting requests and answers running ones', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1);
  const running = harness.send([1]);
  await harness.turn();
  const waiting = harness.send([2]);
  harness.plane.roster.remove(harness.model);
  await harness.turn();
  expect(await waiting.outcome).toBe('model-not-ready');
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  running.answer?.release();
  expectAllSettled(harness);
});

test('a request that reuses the id of a cancelled one is not counted with its batch', async () => {
  const harness = new PlaneHarness();
  const link = harness.worker(1, 2);
  const cancelled = harness.send([1]);
  await harness.turn();
  cancelled.cancellation.cancel('cancelled');
  await harness.turn();
  const next = harness.send([2]);
  await harness.turn();
  link.fails('cancelled', 'the batch was cancelled before it began');
  await harness.turn();
  expect(harness.metric('millrace_queue_requests')).toBe(0);
  link.answers();
  expect(await next.outcome).toBe('answered 2');
  next.answer?.release();
  expectAllSettled(harness);
});

test('answers of an ordered model are sent in the order of arrival, each with its own rows, and their memory is released', async () => {
  const harness = new PlaneHarness({ isOrdered: true, rowsMax: 2 });
  const [first, second] = [harness.worker(1), harness.worker(2)];
  const [one, two, three, four] = [harness.send([1]), harness.send([2]), harness.send([3]), harness.send([4])];
  const sent = [one, two, three, four];
  await harness.turn();
  const region = second.answers();
  await harness.turn();
  expect(sent.map(({ result }) => result)).toEqual([undefined, undefined, undefined, undefined]);
  three.cancellation.cancel('cancelled');
  second.dies();
  await harness.turn();
  expect(region.releases).toBe(0);
  first.answers();
  await harness.turn();
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2', 'cancelled', 'answered 4']);
  expect(region.releases).toBe(0);
  for (const { answer } of sent) answer?.release();
  expectAllSettled(harness);
});

test('a held answer that nobody waits for any more is released', async () => {
  const harness = new PlaneHarness({ isOrdered: true, rowsMax: 1 });
  const [first, second] = [harness.worker(1), harness.worker(2)];
  const [earlier, later] = [harness.send([1]), harness.send([2])];
  await harness.turn();
  const region = second.answers();
  later.cancellation.cancel('cancelled');
  await harness.turn();
  expect(await later.outcome).toBe('cancelled');
  expect(region.releases).toBe(1);
  first.answers();
  expect(await earlier.outcome).toBe('answered 1');
  earlier.answer?.release();
  expectAllSettled(harness);
});

test('an answer beyond what may be held for the order is given up, and its request fails in its turn', async () => {
  const harness = new PlaneHarness({ isOrdered: true, rowsMax: 1 }, undefined, undefined, 1_000_000);
  const [first, second] = [harness.worker(1), harness.worker(2)];
  const sent = [1, 2, 3, 4].map((value) => harness.send([value], undefined, { caller: 'ann' }));
  await harness.turn();
  const large = { index: 0, shape: [1, 100_000], data: new Uint8Array(400_000) };
  const regions: CountedRegion[] = [];
  for (let count = 0; count < 2; count++) {
    regions.push(second.answers([large]));
    await harness.turn();
  }
  regions.push(second.answers());
  await harness.turn();
  expect(regions.map(({ releases }) => releases)).toEqual([0, 1, 0]);
  expect(sent.map(({ result }) => result)).toEqual([undefined, undefined, undefined, undefined]);
  first.answers();
  await harness.turn();
  expect(sent.map(({ result }) => result?.slice(0, 12))).toEqual([
    'answered 1',
    'answered 0 0',
    'caller-full',
    'answered 4',
  ]);
  for (const { answer } of sent) answer?.release();
  expectAllSettled(harness);
  // What was held may be held again.
  const [earlier, later] = [5, 6].map((value) => harness.send([value], undefined, { caller: 'ann' }));
  await harness.turn();
  second.answers([large]);
  first.answers();
  await harness.turn();
  expect([earlier?.result, later?.result?.slice(0, 12)]).toEqual(['answered 5', 'answered 0 0']);
  for (const each of [earlier, later]) each?.answer?.release();
  expectAllSettled(harness);
});

type Step = 'send' | 'send with a deadline' | 'cancel' | 'answer' | 'fail' | 'die' | 'end the turn' | 'pass time';
const steps: readonly Step[] = [
  'send',
  'send',
  'send with a deadline',
  'cancel',
  'answer',
  'answer',
  'fail',
  'die',
  'end the turn',
  'end the turn',
  'pass time',
];

test.each([
  ['a plain model', {}],
  ['an ordered model', { isOrdered: true }],
  ['a model that holds batches back', { delayMs: 30, preferredRows: [4] }],
])('random events with %s: every request ends once and all memory is released once', async (_, policy) => {
  const step = fc.tuple(fc.constantFrom(...steps), fc.nat(1000));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (story) => {
      const harness = new PlaneHarness(policy);
      const links = new Map<number, ScriptedLink>();
      const start = (id: number) => links.set(id, harness.worker(id, 2));
      start(1);
      start(2);
      const sent: Sent[] = [];
      const busy = (pick: number) => {
        const candidates = [...links].filter(([, link]) => link.inFlight.length > 0);
        return candidates[pick % Math.max(1, candidates.length)];
      };
      for (const [kind, pick] of story) {
        if (kind === 'send') sent.push(harness.send(Array.from({ length: 1 + (pick % 3) }, () => pick)));
        else if (kind === 'send with a deadline') sent.push(harness.send([pick], pick % 100));
        else if (kind === 'cancel') sent[pick % Math.max(1, sent.length)]?.cancellation.cancel('cancelled');
        else if (kind === 'answer') busy(pick)?.[1].answers();
        else if (kind === 'fail')
          busy(pick)?.[1].fails(pick % 2 === 0 ? 'inference-failed' : 'cancelled', 'failed by the test');
        else if (kind === 'end the turn') harness.clock.endTurn();
        else if (kind === 'pass time') harness.clock.advance(pick % 200);
        else {
          const [id, link] = [...links][pick % 2] as [number, ScriptedLink];
          link.dies();
          start(id);
        }
      }
      for (let turn = 0; sent.some(({ result }) => result === undefined) && turn < 300; turn++) {
        await harness.turn();
        harness.clock.advance(1);
        for (const link of links.values()) if (link.inFlight.length > 0) link.answers();
      }
      for (const { result, answer } of sent) {
        expect(result).toBeDefined();
        answer?.release();
      }
      for (const link of links.values()) while (link.inFlight.length > 0) link.answers();
      await harness.turn();
      expectAllSettled(harness);
    }),
    { seed: 20, numRuns: 150 },
  );
});

test('a request for a version that is not in memory waits until it is loaded, and its deadline applies', async () => {
  const harness = new PlaneHarness();
  const worker = harness.worker(1);
  showState(harness.models, harness.model, { state: 'evicted' });
  let bring: () => void = () => {};
  const leftMs: number[] = [];
  harness.demand = {
    bringBack: (_model, deadlineAt) => {
      leftMs.push(deadlineAt - harness.clock.now());
      return new Promise((resolve) => {
        bring = resolve;
      });
    },
  };
  const sent = harness.send([5], 1000);
  await harness.turn();
  expect([sent.result, worker.inFlight.length]).toEqual([undefined, 0]);
  harness.clock.advance(400);
  showState(harness.models, harness.model, { state: 'ready' });
  bring();
  await harness.turn();
  await harness.turn();
  expect(worker.inFlight).toHaveLength(1);
  worker.answers();
  expect(await sent.outcome).toBe('answered 5');
  showState(harness.models, harness.model, { state: 'evicted' });
  const waiting = harness.send([7], 1000);
  await harness.turn();
  harness.clock.advance(1000);
  showState(harness.models, harness.model, { state: 'ready' });
  bring();
  await harness.turn();
  await harness.turn();
  expect(await waiting.outcome).toBe('deadline-exceeded');
  expect(leftMs).toEqual([1000, 1000]);
});

test('a request without a version that waits for the highest one is answered by a lower one when that cannot be loaded', async () => {
  const harness = new PlaneHarness();
  const worker = harness.worker(1);
  const higher = servedModel([...harness.model.view.inputs], [...harness.model.view.outputs], { version: '2' });
  const awaited = { state: 'loading', isAwaited: true } as const;
  for (const model of [harness.model, higher]) showState(harness.models, model, awaited);
  showState(harness.models, harness.model, { state: 'ready' });
  let refuse: (error: Error) => void = () => {};
  harness.demand = {
    bringBack: () =>
      new Promise((_resolve, reject) => {
        refuse = reject;
      }),
  };
  const [sent, named] = [harness.send([5]), harness.send([6], undefined, { version: '1' })];
  await harness.turn();
  worker.answers();
  expect([sent.result, await named.outcome]).toEqual([undefined, 'answered 6']);
  showState(harness.models, higher, { state: 'failed', reason: 'torn' });
  refuse(new InferenceError('model-not-ready', 'torn'));
  await harness.turn();
  await harness.turn();
  worker.answers();
  expect(await sent.outcome).toBe('answered 5');
});

test('such a request also goes to a lower version that is loaded on demand', async () => {
  const harness = new PlaneHarness();
  const worker = harness.worker(1);
  const higher = servedModel([...harness.model.view.inputs], [...harness.model.view.outputs], { version: '2' });
  for (const model of [harness.model, higher]) showState(harness.models, model, { state: 'loading', isAwaited: true });
  showState(harness.models, harness.model, { state: 'evicted' });
  const asked: string[] = [];
  harness.demand = {
    bringBack: async (model) => {
      asked.push(model.view.version);
      if (model === higher) {
        showState(harness.models, higher, { state: 'failed', reason: 'torn' });
        throw new InferenceError('model-not-ready', 'torn');
      }
      showState(harness.models, harness.model, { state: 'ready' });
    },
  };
  const sent = harness.send([5]);
  for (let turn = 0; turn < 5; turn++) await harness.turn();
  worker.answers();
  expect([await sent.outcome, asked]).toEqual(['answered 5', ['2', '1']]);
});

test('a request that is malformed, or whose version is unloaded again and again, is refused without waiting for ever', async () => {
  const harness = new PlaneHarness();
  showState(harness.models, harness.model, { state: 'evicted' });
  let times = 0;
  harness.demand = {
    bringBack: async () => {
      times += 1;
    },
  };
  const malformed = harness.send([]);
  expect([await malformed.outcome, times]).toEqual(['invalid-request', 0]);
  expect(await harness.send([1]).outcome).toBe('model-not-ready');
  expect(times).toBe(bringBackAttemptsMax);
});

test('a model that is added again before it is idle stays in service, and its retirement never resolves', async () => {
  const harness = new PlaneHarness();
  const worker = harness.worker(1);
  const first = harness.send([1]);
  await harness.turn();
  let isIdle = false;
  void harness.plane.roster.retire(harness.model).then(() => {
    isIdle = true;
  });
  expect(harness.plane.roster.isInUse(harness.model)).toBe(true);
  harness.plane.roster.add(harness.model);
  worker.answers();
  expect(await first.outcome).toBe('answered 1');
  await harness.turn();
  expect([isIdle, harness.plane.roster.isInUse(harness.model)]).toEqual([false, false]);
  await Promise.all([harness.plane.roster.retire(harness.model), harness.turn()]);
});

test('workers that come back do not keep a model that is about to retire', async () => {
  const harness = new PlaneHarness();
  const letGo = harness.model.streams.hold(() => {});
  let isIdle = false;
  void harness.plane.roster.retire(harness.model, true).then(() => {
    isIdle = true;
  });
  harness.plane.roster.remove(harness.model);
  harness.plane.roster.workersServe(harness.model);
  await harness.turn();
  expect(isIdle).toBe(false);
  letGo();
  await harness.turn();
  await harness.turn();
  expect(isIdle).toBe(true);
});

test('a request that is pinned to a revision is never run by another', async () => {
  const harness = new PlaneHarness();
  harness.worker(1);
  const pinned = harness.model;
  const { view, policy } = pinned;
  const successor = new ServedModel(view, policy, pinned.handle + 1, 2);
  const inputs = [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: new Uint8Array(4) }] as const;
  const request = inferRequest({ model: view.name, version: view.version, inputs });
  const infer = (): Promise<unknown> => {
    const target = { ...request.target, pinnedTo: pinned };
    return harness.plane.inference.inferMany({ ...request, target }, neverCancelled, new AnswerFlow(() => {}));
  };
  // Not in memory: it is loaded again.
  showState(harness.models, pinned, { state: 'evicted' });
  const asked: string[] = [];
  harness.demand = {
    bringBack: async (model) => {
      asked.push(model.key);
      throw new InferenceError('model-not-ready', 'it does not fit');
    },
  };
  await expect(infer()).rejects.toMatchObject({ code: 'model-not-ready' });
  expect(asked).toEqual([pinned.key]);
  // Replaced meanwhile.
  harness.plane.roster.add(successor);
  showState(harness.models, successor, { state: 'ready' });
  await expect(infer()).rejects.toMatchObject({ code: 'model-unloaded' });
});

test('a request that waits when its revision is removed is run by the one that has replaced it', async () => {
  const harness = new PlaneHarness();
  const waiting = harness.send([1]);
  await harness.turn();
  const { view, policy } = harness.model;
  const successor = new ServedModel(view, policy, harness.model.handle + 1, 2);
  harness.plane.roster.add(successor);
  showState(harness.models, successor, { state: 'ready' });
  harness.plane.roster.remove(harness.model);
  await harness.turn();
  expect(harness.metric('millrace_outstanding_requests')).toBe(1);
  const link = harness.lane.open((message) => {
    if (message.kind === 'answered') harness.plane.workers.batchAnswered(message);
  });
  harness.plane.workers.attach(1, link);
  harness.plane.workers.workerCredit(1, 1);
  harness.plane.workers.workerServes(1, successor, Number.POSITIVE_INFINITY);
  await harness.turn();
  link.answers();
  expect(await waiting.outcome).toBe('answered 1');
  expect(harness.metric('millrace_failures_total', ',code="model-not-ready"')).toBe(0);
});

test('a request with several answers gets no more credit once its batch has ended', async () => {
  const tensors = [{ name: 'x', datatype: 'INT32', shape: [1] }] as const;
  const model = servedModel(
    tensors,
    tensors,
    { isDecoupled: true, isBatched: false, rowsMax: 1 },
    { isConcurrent: true },
  );
  const harness = new PlaneHarness({}, model);
  const link = harness.worker(1);
  const results: string[] = [];
  const stream = harness.plane.inference.openStream({
    limits: { requestsMax: 4, slotWaitRequestsMax: 4, slotWaitBytesMax: 1000 },
    memory: { hasRoomToKeep: () => true, count: () => {}, give: () => {} },
    listener: {
      onOutput: ({ result, isFinal }) => {
        results.push(isFinal ? 'end' : 'answer');
        if (!(result instanceof Error)) result.release();
      },
      onHold: () => {},
      onEnd: () => {},
    },
  });
  const data = new Uint8Array(Int32Array.of(1).buffer);
  const request = inferRequest({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1], data }] });
  stream.input({ request: () => request, onDone: () => {} });
  stream.endInput();
  await harness.turn();
  const grants = (): number => link.sent.filter(({ kind }) => kind === 'grant').length;
  expect(grants()).toBe(1);
  const outputs = [{ index: 0, shape: [1], data }];
  const region = harness.lane.region(4);
  harness.plane.workers.batchProgressed({ kind: 'partial-answer', batch: 1, sequence: 1, outputs, region });
  link.answers([]);
  await harness.turn();
  stream.grant(2);
  expect(results).toEqual(['answer', 'end']);
  expect(grants()).toBe(1);
});

test('a retirement that was cancelled while it waited does not end the next one', async () => {
  const harness = new PlaneHarness();
  const { roster } = harness.plane;
  const { model } = harness;
  let answer = (): void => {};
  let close = (): void => {};
  const closes = [Promise.resolve(), new Promise<void>((resolve) => (close = resolve))];
  model.runner = {
    run: () =>
      new Promise((resolve) => {
        answer = () => resolve({ model: 'm', version: '1', id: '', outputs: [], release: () => {} });
      }),
    close: () => closes.shift() ?? Promise.resolve(),
  };
  const sent = harness.send([1]);
  void roster.retire(model);
  await harness.turn();
  roster.add(model);
  let isIdle = false;
  void roster.retire(model).then(() => {
    isIdle = true;
  });
  answer();
  await sent.outcome;
  await harness.turn();
  close();
  await harness.turn();
  await harness.turn();
  expect(isIdle).toBe(true);
});
