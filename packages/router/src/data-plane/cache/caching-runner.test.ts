import { Flights } from '@millrace/core';
import { Cancellation, type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { MetricsObserver } from '../../telemetry/metrics-observer.ts';
import { MetricsRegistry } from '../../telemetry/registry.ts';
import type { InferAnswer } from '../infer.ts';
import { copySliceBytesMax, SlicedWork } from '../sliced-work/sliced-work.ts';
import { HeldClock } from '../testing/held-clock.ts';
import { servedModel } from '../testing/models.ts';
import { overwriteWhenSettled } from '../testing/overwrite-inputs.ts';
import { inferRequest, type RequestText } from '../testing/requests.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { CachingRunner, type WaitingRequest } from './caching-runner.ts';
import { hashSliceBytesMax } from './request-key.ts';
import { ResultCache } from './result-cache.ts';

interface Run {
  readonly request: ValidInferRequest;
  readonly signal: CancelSignal;
  /** Answers with one output of these bytes, in memory that is overwritten on release. */
  answer(...bytes: readonly number[]): void;
  answerLarge(data: Uint8Array): void;
  fail(code: ErrorCode): void;
  releases: number;
}

class CacheHarness {
  readonly clock = new HeldClock();
  readonly runs: Run[] = [];
  readonly observer = new MetricsObserver(new MetricsRegistry(), { version: '0', node: '0' });
  readonly cache: ResultCache;
  readonly flights: Flights<WaitingRequest>;
  readonly #model = servedModel(
    [{ name: 'x', datatype: 'UINT8', shape: [-1, -1] }],
    [{ name: 'y', datatype: 'UINT8', shape: [-1, -1] }],
  );
  readonly sliced = new SlicedWork(this.clock);
  #runner: CachingRunner;

  constructor({
    isShared = false,
    entryBytesMax = 100,
    bytesMax = 10_000,
    followersMax = 10,
    ageMsMax = Number.POSITIVE_INFINITY,
  } = {}) {
    const limits = { bytesMax, entryBytesMax, ageMsMax };
    this.cache = new ResultCache({ limits, clock: this.clock, observer: this.observer });
    this.flights = new Flights({ followersMax, followerBytesMax: 1e9 });
    this.#runner = this.#newRunner(isShared);
  }

  #newRunner(isShared: boolean): CachingRunner {
    return new CachingRunner({
      model: this.#model,
      choice: { isShared },
      inner: { run: (request, signal) => this.#run(request, signal) },
      cache: this.cache,
      flights: this.flights,
      clock: this.clock,
      observer: this.observer.observerFor('m', '1'),
      sliced: this.sliced,
    });
  }

  forget(): void {
    this.#runner.forget();
  }

  reload(): void {
    this.#runner = this.#newRunner(false);
  }

  get statistics() {
    return this.observer.statisticsOf('m', '1');
  }

  #run(request: ValidInferRequest, signal: CancelSignal): Promise<InferAnswer> {
    return new Promise((resolve, reject) => {
      const run: Run = {
        request,
        signal,
        releases: 0,
        answer: (...bytes) => run.answerLarge(Uint8Array.from(bytes)),
        answerLarge(data) {
          const release = (): void => {
            run.releases += 1;
            data.fill(0xee);
          };
          const outputs = [{ name: 'y', datatype: 'UINT8' as const, shape: [1, data.length], data }];
          resolve({ model: 'm', version: '1', id: request.id, outputs, release });
        },
        fail: (code) => reject(new InferenceError(code, code)),
      };
      signal.onCancel((reason) => reject(new InferenceError(reason, reason)));
      this.runs.push(run);
    });
  }

  send(bytes: ArrayLike<number>, rest: Partial<RequestText> = {}, signal: CancelSignal = new Cancellation()) {
    const data = Uint8Array.from(bytes);
    const valid = ValidInferRequest.from(
      inferRequest({
        inputs: [{ name: 'x', datatype: 'UINT8', shape: [1, bytes.length], data }],
        ...rest,
      }),
      this.#model,
    );
    const sent: { answer: InferAnswer | undefined; told: string | undefined; data: Uint8Array } = {
      answer: undefined,
      told: undefined,
      data,
    };
    const answered = this.#runner.run(valid, signal);
    overwriteWhenSettled(answered, valid.inputs);
    answered.then(
      (answer) => {
        sent.answer = answer;
        sent.told = (answer.outputs[0]?.data.subarray(0, 9) ?? []).join(' ');
      },
      (error: InferenceError) => {
        sent.told = error.code;
      },
    );
    return sent;
  }

  run(index: number): Run {
    const run = this.runs[index];
    if (run === undefined) throw new Error(`there is no run ${index}`);
    return run;
  }

  heard(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a cached result', () => {
  test('answers an identical request without a run, under that request\u2019s own id', async () => {
    const harness = new CacheHarness();
    const first = harness.send([1, 2], { id: 'first' });
    harness.run(0).answer(7, 8);
    await harness.heard();
    const second = harness.send([1, 2], { id: 'second' });
    await harness.heard();
    expect(harness.runs.length).toBe(1);
    expect([first.told, second.told]).toEqual(['7 8', '7 8']);
    expect([first.answer?.id, second.answer?.id]).toEqual(['first', 'second']);
    expect(harness.statistics).toMatchObject({
      answered: { count: 1 },
      cacheHit: { count: 1 },
      cacheMiss: { count: 1 },
    });
  });

  test('owns its bytes: the run\u2019s memory is released once, and releasing answers changes nothing', async () => {
    const harness = new CacheHarness();
    const first = harness.send([1]);
    harness.run(0).answer(7);
    await harness.heard();
    expect(harness.run(0).releases).toBe(1);
    first.answer?.release();
    expect(first.told).toBe('7');
    const second = harness.send([1]);
    await harness.heard();
    second.answer?.release();
    expect([...(second.answer?.outputs[0]?.data ?? [])]).toEqual([7]);
    expect(harness.run(0).releases).toBe(1);
  });

  test('is for the caller whose request produced it, unless the model shares results', async () => {
    for (const [isShared, runs] of [
      [false, 2],
      [true, 1],
    ] as const) {
      const harness = new CacheHarness({ isShared });
      harness.send([1], { caller: 'one' });
      harness.run(0).answer(7);
      await harness.heard();
      harness.send([1], { caller: 'another' });
      expect(harness.runs.length).toBe(runs);
    }
  });

  test('is never returned for another load of the model, for a flushed model, or when too old', async () => {
    const harness = new CacheHarness({ ageMsMax: 1000 });
    const ask = async (): Promise<void> => {
      harness.send([1]);
      harness.runs.at(-1)?.answer(7);
      await harness.heard();
    };
    await ask();
    await ask();
    expect(harness.runs.length).toBe(1);
    harness.reload();
    await ask();
    expect(harness.runs.length).toBe(2);
    expect(harness.cache.flush('other')).toBe(0);
    expect(harness.cache.flush('m')).toBe(2);
    await ask();
    expect(harness.runs.length).toBe(3);
    harness.clock.advance(1001);
    await ask();
    expect(harness.runs.length).toBe(4);
  });

  test('is removed when its model is removed for good', async () => {
    const harness = new CacheHarness();
    harness.send([1]);
    harness.run(0).answer(7);
    await harness.heard();
    harness.forget();
    expect(harness.cache.flush()).toBe(0);
  });

  test('a failure is not cached', async () => {
    const harness = new CacheHarness();
    const first = harness.send([1]);
    harness.run(0).fail('inference-failed');
    await harness.heard();
    expect(first.told).toBe('inference-failed');
    harness.send([1]);
    expect(harness.runs.length).toBe(2);
  });

  test('a result over the limit of one entry is not cached, and its memory is released after its last reader', async () => {
    const harness = new CacheHarness({ entryBytesMax: 1 });
    const [one, other] = [harness.send([1]), harness.send([1])];
    harness.run(0).answer(7, 8);
    await harness.heard();
    expect([one.told, other.told]).toEqual(['7 8', '7 8']);
    one.answer?.release();
    expect(harness.run(0).releases).toBe(0);
    other.answer?.release();
    expect(harness.run(0).releases).toBe(1);
    harness.send([1]);
    expect(harness.runs.length).toBe(2);
  });

  test('a step of a sequence bypasses the cache', async () => {
    const harness = new CacheHarness();
    const sequence = { id: 1n, isStart: true, isEnd: false };
    harness.send([1], { sequence });
    harness.send([1], { sequence });
    expect(harness.runs.length).toBe(2);
    expect(harness.statistics).toMatchObject({ cacheHit: { count: 0 }, cacheMiss: { count: 0 } });
  });
});

describe('identical requests in flight', () => {
  test('share one run, and each is answered', async () => {
    const harness = new CacheHarness();
    const sent = [harness.send([1]), harness.send([1]), harness.send([2]), harness.send([1])];
    expect(harness.runs.length).toBe(2);
    harness.run(0).answer(7);
    harness.run(1).answer(8);
    await harness.heard();
    expect(sent.map(({ told }) => told)).toEqual(['7', '7', '8', '7']);
    // The runs themselves are counted by the queue they go through.
    expect(harness.statistics).toMatchObject({
      answered: { count: 2 },
      cacheHit: { count: 2 },
      cacheMiss: { count: 2 },
    });
  });

  test('continue without a cancelled leader, from a copy of its inputs', async () => {
    const harness = new CacheHarness();
    const cancellation = new Cancellation();
    const leader = harness.send([1, 2], {}, cancellation);
    const follower = harness.send([1, 2]);
    cancellation.cancel('cancelled');
    await harness.heard();
    expect(leader.told).toBe('cancelled');
    leader.data.fill(99);
    expect([...(harness.run(0).request.inputs[0]?.data ?? [])]).toEqual([1, 2]);
    expect(harness.run(0).signal.reason).toBeUndefined();
    harness.run(0).answer(7);
    await harness.heard();
    expect(follower.told).toBe('7');
    expect(harness.statistics).toMatchObject({ failed: { count: 1 } });
  });

  test('end by their own deadlines, and the run ends with the last of them', async () => {
    const harness = new CacheHarness();
    const soon = harness.send([1], { deadlineAt: harness.clock.now() + 100 });
    const late = harness.send([1], { deadlineAt: harness.clock.now() + 200 });
    expect(harness.run(0).request.origin.deadlineAt).toBe(Number.POSITIVE_INFINITY);
    harness.clock.advance(100);
    await harness.heard();
    expect([soon.told, late.told]).toEqual(['deadline-exceeded', undefined]);
    expect(harness.run(0).signal.reason).toBeUndefined();
    harness.clock.advance(100);
    await harness.heard();
    expect(late.told).toBe('deadline-exceeded');
    expect(harness.run(0).signal.reason).toBe('deadline-exceeded');
    expect(harness.clock.timerCount).toBe(0);
    expect(harness.flights.size).toBe(0);
  });

  test('a run that was abandoned is not reused for the next request of the same key', async () => {
    const harness = new CacheHarness();
    const cancellation = new Cancellation();
    harness.send([1], {}, cancellation);
    cancellation.cancel('cancelled');
    const next = harness.send([1]);
    await harness.heard();
    expect(harness.runs.length).toBe(2);
    expect(next.told).toBeUndefined();
    harness.run(1).answer(7);
    await harness.heard();
    expect(next.told).toBe('7');
  });

  test('all get a failure of the request itself', async () => {
    const harness = new CacheHarness();
    const sent = [harness.send([1]), harness.send([1])];
    harness.run(0).fail('inference-failed');
    await harness.heard();
    expect(sent.map(({ told }) => told)).toEqual(['inference-failed', 'inference-failed']);
    expect(harness.runs.length).toBe(1);
    expect(harness.statistics).toMatchObject({ failed: { count: 1 } });
  });

  test('are run again where the failure was the leader\u2019s own', async () => {
    const harness = new CacheHarness();
    const sent = [harness.send([1], { id: 'a' }), harness.send([1], { id: 'b' }), harness.send([1], { id: 'c' })];
    harness.run(0).fail('worker-lost');
    await harness.heard();
    expect(sent.map(({ told }) => told)).toEqual(['worker-lost', undefined, undefined]);
    expect(harness.run(1).request.id).toBe('b');
    harness.run(1).answer(7);
    await harness.heard();
    expect(sent.map(({ told }) => told)).toEqual(['worker-lost', '7', '7']);
  });

  test('of another priority do not wait for the run', () => {
    const harness = new CacheHarness();
    harness.send([1], { priority: 2 });
    harness.send([1], { priority: 1 });
    expect(harness.runs.length).toBe(2);
  });

  test('beyond the limit of followers have their own run, with their own deadline and signal', async () => {
    const harness = new CacheHarness({ followersMax: 1 });
    harness.send([1]);
    harness.send([1]);
    const cancellation = new Cancellation();
    const alone = harness.send([1], { deadlineAt: harness.clock.now() + 50 }, cancellation);
    expect(harness.runs.length).toBe(2);
    expect(harness.run(1).request.origin.deadlineAt).toBe(harness.clock.now() + 50);
    cancellation.cancel('cancelled');
    await harness.heard();
    expect(alone.told).toBe('cancelled');
  });
});

describe('large requests', () => {
  const large = new Uint8Array(copySliceBytesMax + 2 * hashSliceBytesMax).fill(3);
  const hashTurns = large.length / hashSliceBytesMax;

  test('are hashed and copied in slices, and share results as small ones do', async () => {
    const harness = new CacheHarness({ entryBytesMax: 100 });
    const first = harness.send(large);
    for (let turn = 0; turn < hashTurns; turn++) harness.clock.endOneTurn();
    expect(harness.runs.length).toBe(0);
    // The last slice of the hash, then two of the copy.
    harness.clock.endTurn();
    expect(harness.runs.length).toBe(1);
    expect(Buffer.compare(harness.run(0).request.inputs[0]?.data ?? large.subarray(1), large)).toBe(0);
    harness.run(0).answer(7);
    await harness.heard();
    const second = harness.send(large);
    const other = harness.send(large.map((byte, index) => (index === large.length - 1 ? 4 : byte)));
    harness.clock.endTurn();
    await harness.heard();
    expect([first.told, second.told, other.told]).toEqual(['7', '7', undefined]);
    expect(harness.runs.length).toBe(2);
  });

  test.each(['cancelled', 'deadline-exceeded'] as const)(
    'that end by %s while they are hashed are no longer read',
    async (reason) => {
      const harness = new CacheHarness();
      const cancellation = new Cancellation();
      const sent = harness.send(large, { deadlineAt: harness.clock.now() + 50 }, cancellation);
      harness.clock.endOneTurn();
      if (reason === 'cancelled') cancellation.cancel('cancelled');
      else harness.clock.advance(50);
      await harness.heard();
      // The held clock ends turns first, so at the deadline it is copied and waiting; either way it is rejected.
      expect(sent.told).toBe(reason);
      expect(harness.sliced.count).toBe(0);
      expect(harness.clock.timerCount).toBe(0);
    },
  );

  test('are copied from the next waiting request when the leader leaves', async () => {
    const harness = new CacheHarness();
    const cancellation = new Cancellation();
    const leader = harness.send(large, { id: 'a' }, cancellation);
    const follower = harness.send(large, { id: 'b' });
    for (let turn = 0; harness.sliced.count !== 1 || harness.flights.followers === 0; turn++) {
      if (turn > 100) throw new Error('the inputs were never copied');
      harness.clock.endOneTurn();
    }
    cancellation.cancel('cancelled');
    leader.data.fill(0xee);
    harness.clock.endTurn();
    expect(harness.runs.map(({ request }) => request.id)).toEqual(['b']);
    expect(Buffer.compare(harness.run(0).request.inputs[0]?.data ?? large.subarray(1), large)).toBe(0);
    harness.run(0).answer(5);
    await harness.heard();
    expect([leader.told, follower.told]).toEqual(['cancelled', '5']);
  });

  test('are not run when the last waiting request leaves while they are copied', async () => {
    const harness = new CacheHarness();
    const cancellation = new Cancellation();
    const sent = harness.send(large, {}, cancellation);
    while (harness.flights.size === 0) harness.clock.endOneTurn();
    cancellation.cancel('cancelled');
    harness.clock.endTurn();
    await harness.heard();
    expect(sent.told).toBe('cancelled');
    expect([harness.runs.length, harness.flights.size, harness.sliced.count]).toEqual([0, 0, 0]);
  });

  test('have large results cached in slices, while waiting requests are answered at once', async () => {
    const harness = new CacheHarness({ entryBytesMax: 1e9, bytesMax: 1e9 });
    const first = harness.send([1]);
    harness.run(0).answerLarge(new Uint8Array(copySliceBytesMax + 9).fill(8));
    await harness.heard();
    expect(first.told).toBe('8 8 8 8 8 8 8 8 8');
    first.answer?.release();
    expect([harness.run(0).releases, harness.cache.flush()]).toEqual([0, 0]);
    harness.clock.endTurn();
    expect(harness.run(0).releases).toBe(1);
    const second = harness.send([1]);
    await harness.heard();
    expect(second.told).toBe('8 8 8 8 8 8 8 8 8');
    expect(harness.runs.length).toBe(1);
  });

  test('of a model that was removed meanwhile are not cached', async () => {
    const harness = new CacheHarness({ entryBytesMax: 1e9, bytesMax: 1e9 });
    harness.send([1]);
    harness.run(0).answerLarge(new Uint8Array(copySliceBytesMax + 9));
    await harness.heard();
    harness.forget();
    harness.clock.endTurn();
    expect(harness.cache.flush()).toBe(0);
  });
});
