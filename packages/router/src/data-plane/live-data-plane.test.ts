import { Cancellation } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bringBackAttemptsMax } from './demand.ts';
import { testPolicy } from './testing/models.ts';
import { PlaneHarness, type Sent } from './testing/plane-harness.ts';
import type { ScriptedLink } from './testing/scripted-lane.ts';

/** Nothing is waiting, nothing is open, and all memory went back once. */
function expectAllSettled(stage: PlaneHarness): void {
  expect(stage.lane.releases()).toEqual(stage.lane.regions.map(() => 1));
  expect(stage.metric('millrace_queue_requests')).toBe(0);
  expect(stage.metric('millrace_outstanding_requests')).toBe(0);
}

test('requests of one turn share a batch, and its memory goes back when the last of them has used its rows', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const [first, second] = [stage.send([1, 2]), stage.send([3])];
  await stage.turn();
  expect(link.inFlight.map(({ inputs }) => inputs[0]?.shape)).toEqual([[3, 1]]);
  const region = link.answers();
  expect([await first.outcome, await second.outcome]).toEqual(['answered 1 2', 'answered 3']);
  expect(region.releases).toBe(0);
  first.answer?.release();
  expect(region.releases).toBe(0);
  second.answer?.release();
  expectAllSettled(stage);
});

test('a request that is cancelled while it waits is refused and never sent', async () => {
  const stage = new PlaneHarness();
  const sent = stage.send([1]);
  await stage.turn();
  expect(stage.metric('millrace_queue_requests')).toBe(1);
  sent.cancellation.cancel('cancelled');
  await stage.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(stage.metric('millrace_abandoned_requests_total', ',reason="cancelled"')).toBe(1);
  expect(stage.metric('millrace_saved_rows_total')).toBe(1);
  const link = stage.worker(1);
  await stage.turn();
  expect(link.sent).toEqual([]);
  expectAllSettled(stage);
});

test('a signal that was cancelled before the call refuses the request', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const cancellation = new Cancellation();
  cancellation.cancel('cancelled');
  const sent = stage.sendWith(cancellation, [1]);
  await stage.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(link.sent).toEqual([]);
  expectAllSettled(stage);
});

test('a late answer to a cancelled request frees its memory at once, and the run is counted', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const sent = stage.send([1, 2]);
  await stage.turn();
  sent.cancellation.cancel('cancelled');
  await stage.turn();
  expect(await sent.outcome).toBe('cancelled');
  expect(link.sent.at(-1)).toEqual({ kind: 'cancel', batch: link.inFlight[0]?.batch });
  const region = link.answers();
  expect(region.releases).toBe(1);
  expect(stage.metric('millrace_batch_rows_sum')).toBe(2);
  expectAllSettled(stage);
});

test('a batch that its worker skipped is counted as saved, and not as run', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const sent = stage.send([1, 2, 3]);
  await stage.turn();
  sent.cancellation.cancel('cancelled');
  await stage.turn();
  link.fails('cancelled', 'skipped');
  expect(stage.metric('millrace_skipped_batches_total')).toBe(1);
  expect(stage.metric('millrace_saved_rows_total')).toBe(3);
  expect(stage.metric('millrace_batch_rows_sum')).toBe(0);
  expectAllSettled(stage);
});

test('a request that is cancelled in a shared batch costs the others nothing', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const [first, second, third] = [stage.send([1]), stage.send([2]), stage.send([3])];
  await stage.turn();
  second.cancellation.cancel('cancelled');
  await stage.turn();
  expect(await second.outcome).toBe('cancelled');
  expect(link.sent.map(({ kind }) => kind)).toEqual(['dispatch']);
  link.answers();
  expect([await first.outcome, await third.outcome]).toEqual(['answered 1', 'answered 3']);
  first.answer?.release();
  third.answer?.release();
  expectAllSettled(stage);
});

test('a failed batch is tried one by one, and only the request that fails alone is refused', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const [first, second] = [stage.send([1]), stage.send([2])];
  await stage.turn();
  link.fails('inference-failed', 'an index is out of range');
  await stage.turn();
  link.fails('inference-failed', 'an index is out of range');
  await stage.turn();
  link.answers();
  expect([await first.outcome, await second.outcome]).toEqual(['inference-failed', 'answered 2']);
  second.answer?.release();
  expectAllSettled(stage);
});

test('what a dead worker held is answered once by another', async () => {
  const stage = new PlaneHarness();
  const doomed = stage.worker(1);
  const sent = stage.send([7]);
  await stage.turn();
  doomed.dies();
  await stage.turn();
  expect(stage.metric('millrace_queue_requests')).toBe(1);
  expect(sent.result).toBeUndefined();
  const successor = stage.worker(1);
  await stage.turn();
  successor.answers();
  expect(await sent.outcome).toBe('answered 7');
  sent.answer?.release();
  expectAllSettled(stage);
});

test('two workers that die of a request refuse it as poison, and its neighbour is answered', async () => {
  const stage = new PlaneHarness();
  const [poison, neighbour] = [stage.send([666]), stage.send([1])];
  stage.worker(1).dies();
  await stage.turn();
  stage.worker(1).dies();
  await stage.turn();
  expect(await poison.outcome).toBe('poison-request');
  const last = stage.worker(1);
  await stage.turn();
  last.answers();
  expect(await neighbour.outcome).toBe('answered 1');
  neighbour.answer?.release();
  expectAllSettled(stage);
});

test('an answer that cannot be cut into rows is freed, and each request gets the answer of a run of its own', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const sent = [stage.send([1]), stage.send([2])];
  await stage.turn();
  link.answers([{ index: 0, shape: [1, 1], data: new Uint8Array(4) }]);
  for (const { outcome } of sent) {
    await stage.turn();
    link.answers();
    await outcome;
  }
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2']);
  for (const { answer } of sent) answer?.release();
  expectAllSettled(stage);
});

test('an answer to a batch that nobody knows is freed and otherwise ignored', () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const region = stage.lane.region(4);
  link.says({ kind: 'answered', batch: 99, outputs: [], region, runMicros: 1 });
  expect(region.releases).toBe(1);
});

test('a deadline that passes while a request waits refuses it, and it never runs', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const [running, waiting] = [stage.send([1]), stage.send([2, 3, 4, 5, 6, 7, 8, 9], 50)];
  await stage.turn();
  stage.clock.advance(49);
  await stage.turn();
  expect(waiting.result).toBeUndefined();
  stage.clock.advance(1);
  expect(await waiting.outcome).toBe('deadline-exceeded');
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  await stage.turn();
  expect(link.sent.filter(({ kind }) => kind === 'dispatch')).toHaveLength(1);
  running.answer?.release();
  expectAllSettled(stage);
});

test('a run over its limit costs the worker its life and the request its answer, but not those behind it', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1, 2);
  const hung = stage.send([1]);
  await stage.turn();
  const behind = stage.send([2]);
  await stage.turn();
  stage.clock.advance(testPolicy.runMsMax - 1);
  expect(link.calls).toEqual([]);
  stage.clock.advance(1);
  expect(link.calls).toEqual(['kill']);
  expect(hung.result).toBeUndefined();
  link.dies();
  await stage.turn();
  expect(await hung.outcome).toBe('run-time-limit');
  const successor = stage.worker(1);
  await stage.turn();
  successor.answers();
  expect(await behind.outcome).toBe('answered 2');
  behind.answer?.release();
  expectAllSettled(stage);
});

/** A runner that asks the queue only when it is told to, by what is returned. */
function holdByRunner(stage: PlaneHarness): () => void {
  let begin: () => void = () => {};
  stage.model.runner = {
    async run(request, signal) {
      await new Promise<void>((resolve) => {
        begin = resolve;
      });
      return stage.plane.queue.run(request, signal);
    },
  };
  return () => begin();
}

test('a drain and a retirement let a runner finish what it holds, parts that begin later included', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const begin = holdByRunner(stage);
  const sent = stage.send([1]);
  const ended: string[] = [];
  void stage.plane.roster.retire(stage.model).then(() => ended.push('retired'));
  void stage.plane.drain().then(() => ended.push('drained'));
  const late = stage.send([2]);
  await stage.turn();
  expect(late.result).toBe('draining');
  expect(ended).toEqual([]);
  begin();
  await stage.turn();
  await stage.turn();
  link.answers();
  await stage.turn();
  expect(sent.result).toBe('answered 1');
  await stage.turn();
  expect(new Set(ended)).toEqual(new Set(['retired', 'drained']));
});

test('a drain that waits for a runner refuses requests without one too', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const begin = holdByRunner(stage);
  const sent = stage.send([1]);
  const drained = stage.plane.drain();
  stage.model.runner = undefined;
  const late = stage.send([2]);
  await stage.turn();
  expect(late.result).toBe('draining');
  begin();
  await stage.turn();
  await stage.turn();
  link.answers();
  expect(await sent.outcome).toBe('answered 1');
  sent.answer?.release();
  await stage.turn();
  await drained;
  expectAllSettled(stage);
});

test('a drain refuses what comes after it and ends with the last answer', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const running = stage.send([1]);
  await stage.turn();
  let isDrained = false;
  const drained = stage.plane.drain().then(() => {
    isDrained = true;
  });
  const late = stage.send([2]);
  await stage.turn();
  expect(await late.outcome).toBe('draining');
  expect(isDrained).toBe(false);
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  await stage.turn();
  await drained;
  running.answer?.release();
  expectAllSettled(stage);
});

test('a removed model refuses what waits and answers what runs', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1);
  const running = stage.send([1]);
  await stage.turn();
  const waiting = stage.send([2]);
  stage.plane.roster.remove(stage.model);
  await stage.turn();
  expect(await waiting.outcome).toBe('model-not-ready');
  link.answers();
  expect(await running.outcome).toBe('answered 1');
  running.answer?.release();
  expectAllSettled(stage);
});

test('a request that takes over the id of a cancelled one is not counted with its batch', async () => {
  const stage = new PlaneHarness();
  const link = stage.worker(1, 2);
  const cancelled = stage.send([1]);
  await stage.turn();
  cancelled.cancellation.cancel('cancelled');
  await stage.turn();
  const next = stage.send([2]);
  await stage.turn();
  link.fails('cancelled', 'the batch was cancelled before it began');
  await stage.turn();
  expect(stage.metric('millrace_queue_requests')).toBe(0);
  link.answers();
  expect(await next.outcome).toBe('answered 2');
  next.answer?.release();
  expectAllSettled(stage);
});

test('answers of an ordered model leave in the order of arrival, each with its own rows, and their memory goes back', async () => {
  const stage = new PlaneHarness({ isOrdered: true, rowsMax: 2 });
  const [first, second] = [stage.worker(1), stage.worker(2)];
  const [one, two, three, four] = [stage.send([1]), stage.send([2]), stage.send([3]), stage.send([4])];
  const sent = [one, two, three, four];
  await stage.turn();
  const region = second.answers();
  await stage.turn();
  expect(sent.map(({ result }) => result)).toEqual([undefined, undefined, undefined, undefined]);
  three.cancellation.cancel('cancelled');
  second.dies();
  await stage.turn();
  expect(region.releases).toBe(0);
  first.answers();
  await stage.turn();
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2', 'cancelled', 'answered 4']);
  expect(region.releases).toBe(0);
  for (const { answer } of sent) answer?.release();
  expectAllSettled(stage);
});

test('a held answer that nobody waits for any more gives its memory back', async () => {
  const stage = new PlaneHarness({ isOrdered: true, rowsMax: 1 });
  const [first, second] = [stage.worker(1), stage.worker(2)];
  const [earlier, later] = [stage.send([1]), stage.send([2])];
  await stage.turn();
  const region = second.answers();
  later.cancellation.cancel('cancelled');
  await stage.turn();
  expect(await later.outcome).toBe('cancelled');
  expect(region.releases).toBe(1);
  first.answers();
  expect(await earlier.outcome).toBe('answered 1');
  earlier.answer?.release();
  expectAllSettled(stage);
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
  ['a model whose answers leave in order', { isOrdered: true }],
  ['a model that holds batches back', { delayMs: 30, preferredRows: [4] }],
])('whatever happens to %s, every request ends once and all memory goes back once', async (_, policy) => {
  const step = fc.tuple(fc.constantFrom(...steps), fc.nat(1000));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (story) => {
      const stage = new PlaneHarness(policy);
      const links = new Map<number, ScriptedLink>();
      const start = (id: number) => links.set(id, stage.worker(id, 2));
      start(1);
      start(2);
      const sent: Sent[] = [];
      const busy = (pick: number) => {
        const candidates = [...links].filter(([, link]) => link.inFlight.length > 0);
        return candidates[pick % Math.max(1, candidates.length)];
      };
      for (const [kind, pick] of story) {
        if (kind === 'send') sent.push(stage.send(Array.from({ length: 1 + (pick % 3) }, () => pick)));
        else if (kind === 'send with a deadline') sent.push(stage.send([pick], pick % 100));
        else if (kind === 'cancel') sent[pick % Math.max(1, sent.length)]?.cancellation.cancel('cancelled');
        else if (kind === 'answer') busy(pick)?.[1].answers();
        else if (kind === 'fail') busy(pick)?.[1].fails(pick % 2 === 0 ? 'inference-failed' : 'cancelled', 'told to');
        else if (kind === 'end the turn') stage.clock.endTurn();
        else if (kind === 'pass time') stage.clock.advance(pick % 200);
        else {
          const [id, link] = [...links][pick % 2] as [number, ScriptedLink];
          link.dies();
          start(id);
        }
      }
      for (let turn = 0; sent.some(({ result }) => result === undefined) && turn < 300; turn++) {
        await stage.turn();
        stage.clock.advance(1);
        for (const link of links.values()) if (link.inFlight.length > 0) link.answers();
      }
      for (const { result, answer } of sent) {
        expect(result).toBeDefined();
        answer?.release();
      }
      for (const link of links.values()) while (link.inFlight.length > 0) link.answers();
      await stage.turn();
      expectAllSettled(stage);
    }),
    { seed: 20, numRuns: 150 },
  );
});

test('a request for a version that is not in memory waits until it is brought back, and its deadline counts', async () => {
  const stage = new PlaneHarness();
  const worker = stage.worker(1);
  stage.models.setAside(stage.model);
  let bring: () => void = () => {};
  const leftMs: number[] = [];
  stage.demand = {
    bringBack: (_model, deadlineAt) => {
      leftMs.push(deadlineAt - stage.clock.now());
      return new Promise((resolve) => {
        bring = resolve;
      });
    },
  };
  const sent = stage.send([5], 1000);
  await stage.turn();
  expect([sent.result, worker.inFlight.length]).toEqual([undefined, 0]);
  stage.clock.advance(400);
  stage.models.serve(stage.model);
  bring();
  await stage.turn();
  await stage.turn();
  expect(worker.inFlight).toHaveLength(1);
  worker.answers();
  expect(await sent.outcome).toBe('answered 5');
  stage.models.setAside(stage.model);
  const waiting = stage.send([7], 1000);
  await stage.turn();
  stage.clock.advance(1000);
  stage.models.serve(stage.model);
  bring();
  await stage.turn();
  await stage.turn();
  expect(await waiting.outcome).toBe('deadline-exceeded');
  expect(leftMs).toEqual([1000, 1000]);
});

test('a request that is malformed, or whose version cannot stay, is refused without waiting for ever', async () => {
  const stage = new PlaneHarness();
  stage.models.setAside(stage.model);
  let times = 0;
  stage.demand = {
    bringBack: async () => {
      times += 1;
    },
  };
  const malformed = stage.send([]);
  expect([await malformed.outcome, times]).toEqual(['invalid-request', 0]);
  expect(await stage.send([1]).outcome).toBe('model-not-ready');
  expect(times).toBe(bringBackAttemptsMax);
});

test('a model that is taken back before it is idle goes on, and was not idle', async () => {
  const stage = new PlaneHarness();
  const worker = stage.worker(1);
  const first = stage.send([1]);
  await stage.turn();
  let isIdle = false;
  void stage.plane.roster.retire(stage.model).then(() => {
    isIdle = true;
  });
  expect(stage.plane.roster.isInUse(stage.model)).toBe(true);
  stage.plane.roster.add(stage.model);
  worker.answers();
  expect(await first.outcome).toBe('answered 1');
  await stage.turn();
  expect([isIdle, stage.plane.roster.isInUse(stage.model)]).toEqual([false, false]);
  await Promise.all([stage.plane.roster.retire(stage.model), stage.turn()]);
});
