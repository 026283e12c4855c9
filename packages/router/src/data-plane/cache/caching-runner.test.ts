import { Flights } from '@millrace/core';
import { Cancellation, type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { MetricsObserver } from '../../telemetry/metrics-observer.ts';
import { MetricsRegistry } from '../../telemetry/registry.ts';
import type { InferAnswer } from '../infer.ts';
import { copySliceBytesMax, SlicedWork } from '../sliced-work/sliced-work.ts';
import { HeldClock } from '../testing/held-clock.ts';
import { servedModel } from '../testing/models.ts';
import { inferRequest, type RequestText } from '../testing/requests.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { CachingRunner, type WaitingRequest } from './caching-runner.ts';
import { hashSliceBytesMax } from './request-key.ts';
import { ResultCache } from './result-cache.ts';

interface Run {
  readonly request: ValidInferRequest;
  readonly signal: CancelSignal;
  /** Answers with one output of these bytes, in memory that is scribbled over on release. */
  answer(...bytes: readonly number[]): void;
  answerLarge(data: Uint8Array): void;
  fail(code: ErrorCode): void;
  releases: number;
}

class Stage {
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
    this.#runner.run(valid, signal).then(
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

describe('a kept result', () => {
  test('answers an identical request without a run, under that request\u2019s own id', async () => {
    const stage = new Stage();
    const first = stage.send([1, 2], { id: 'first' });
    stage.run(0).answer(7, 8);
    await stage.heard();
    const second = stage.send([1, 2], { id: 'second' });
    await stage.heard();
    expect(stage.runs.length).toBe(1);
    expect([first.told, second.told]).toEqual(['7 8', '7 8']);
    expect([first.answer?.id, second.answer?.id]).toEqual(['first', 'second']);
    expect(stage.statistics).toMatchObject({ answered: { count: 1 }, cacheHit: { count: 1 }, cacheMiss: { count: 1 } });
  });

  test('owns its bytes: the run\u2019s memory goes back once, and releasing answers changes nothing', async () => {
    const stage = new Stage();
    const first = stage.send([1]);
    stage.run(0).answer(7);
    await stage.heard();
    expect(stage.run(0).releases).toBe(1);
    first.answer?.release();
    expect(first.told).toBe('7');
    const second = stage.send([1]);
    await stage.heard();
    second.answer?.release();
    expect([...(second.answer?.outputs[0]?.data ?? [])]).toEqual([7]);
    expect(stage.run(0).releases).toBe(1);
  });

  test('is for the caller that brought it about, unless the model says otherwise', async () => {
    for (const [isShared, runs] of [
      [false, 2],
      [true, 1],
    ] as const) {
      const stage = new Stage({ isShared });
      stage.send([1], { caller: 'one' });
      stage.run(0).answer(7);
      await stage.heard();
      stage.send([1], { caller: 'another' });
      expect(stage.runs.length).toBe(runs);
    }
  });

  test('is never given out for another load of the model, for a flushed model, or when too old', async () => {
    const stage = new Stage({ ageMsMax: 1000 });
    const ask = async (): Promise<void> => {
      stage.send([1]);
      stage.runs.at(-1)?.answer(7);
      await stage.heard();
    };
    await ask();
    await ask();
    expect(stage.runs.length).toBe(1);
    stage.reload();
    await ask();
    expect(stage.runs.length).toBe(2);
    expect(stage.cache.flush('other')).toBe(0);
    expect(stage.cache.flush('m')).toBe(2);
    await ask();
    expect(stage.runs.length).toBe(3);
    stage.clock.advance(1001);
    await ask();
    expect(stage.runs.length).toBe(4);
  });

  test('goes when its model is gone for good', async () => {
    const stage = new Stage();
    stage.send([1]);
    stage.run(0).answer(7);
    await stage.heard();
    stage.forget();
    expect(stage.cache.flush()).toBe(0);
  });

  test('a failure is not kept', async () => {
    const stage = new Stage();
    const first = stage.send([1]);
    stage.run(0).fail('inference-failed');
    await stage.heard();
    expect(first.told).toBe('inference-failed');
    stage.send([1]);
    expect(stage.runs.length).toBe(2);
  });

  test('a result over the limit of one entry is not kept, and its memory goes back after its last reader', async () => {
    const stage = new Stage({ entryBytesMax: 1 });
    const [one, other] = [stage.send([1]), stage.send([1])];
    stage.run(0).answer(7, 8);
    await stage.heard();
    expect([one.told, other.told]).toEqual(['7 8', '7 8']);
    one.answer?.release();
    expect(stage.run(0).releases).toBe(0);
    other.answer?.release();
    expect(stage.run(0).releases).toBe(1);
    stage.send([1]);
    expect(stage.runs.length).toBe(2);
  });

  test('a step of a sequence passes by', async () => {
    const stage = new Stage();
    const sequence = { id: 1n, isStart: true, isEnd: false };
    stage.send([1], { sequence });
    stage.send([1], { sequence });
    expect(stage.runs.length).toBe(2);
    expect(stage.statistics).toMatchObject({ cacheHit: { count: 0 }, cacheMiss: { count: 0 } });
  });
});

describe('identical requests on their way', () => {
  test('are one run, and each is answered', async () => {
    const stage = new Stage();
    const sent = [stage.send([1]), stage.send([1]), stage.send([2]), stage.send([1])];
    expect(stage.runs.length).toBe(2);
    stage.run(0).answer(7);
    stage.run(1).answer(8);
    await stage.heard();
    expect(sent.map(({ told }) => told)).toEqual(['7', '7', '8', '7']);
    // The runs themselves are counted by the queue they go through.
    expect(stage.statistics).toMatchObject({ answered: { count: 2 }, cacheHit: { count: 2 }, cacheMiss: { count: 2 } });
  });

  test('go on without a leader that was cancelled, from a copy of its inputs', async () => {
    const stage = new Stage();
    const cancellation = new Cancellation();
    const leader = stage.send([1, 2], {}, cancellation);
    const follower = stage.send([1, 2]);
    cancellation.cancel('cancelled');
    await stage.heard();
    expect(leader.told).toBe('cancelled');
    leader.data.fill(99);
    expect([...(stage.run(0).request.inputs[0]?.data ?? [])]).toEqual([1, 2]);
    expect(stage.run(0).signal.reason).toBeUndefined();
    stage.run(0).answer(7);
    await stage.heard();
    expect(follower.told).toBe('7');
    expect(stage.statistics).toMatchObject({ failed: { count: 1 } });
  });

  test('end by their own deadlines, and the run ends with the last of them', async () => {
    const stage = new Stage();
    const soon = stage.send([1], { deadlineAt: stage.clock.now() + 100 });
    const late = stage.send([1], { deadlineAt: stage.clock.now() + 200 });
    expect(stage.run(0).request.origin.deadlineAt).toBe(Number.POSITIVE_INFINITY);
    stage.clock.advance(100);
    await stage.heard();
    expect([soon.told, late.told]).toEqual(['deadline-exceeded', undefined]);
    expect(stage.run(0).signal.reason).toBeUndefined();
    stage.clock.advance(100);
    await stage.heard();
    expect(late.told).toBe('deadline-exceeded');
    expect(stage.run(0).signal.reason).toBe('deadline-exceeded');
    expect(stage.clock.timerCount).toBe(0);
    expect(stage.flights.size).toBe(0);
  });

  test('a run that nobody waited for any more is not taken for the next one of the same key', async () => {
    const stage = new Stage();
    const cancellation = new Cancellation();
    stage.send([1], {}, cancellation);
    cancellation.cancel('cancelled');
    const next = stage.send([1]);
    await stage.heard();
    expect(stage.runs.length).toBe(2);
    expect(next.told).toBeUndefined();
    stage.run(1).answer(7);
    await stage.heard();
    expect(next.told).toBe('7');
  });

  test('are all told a failure of the request itself', async () => {
    const stage = new Stage();
    const sent = [stage.send([1]), stage.send([1])];
    stage.run(0).fail('inference-failed');
    await stage.heard();
    expect(sent.map(({ told }) => told)).toEqual(['inference-failed', 'inference-failed']);
    expect(stage.runs.length).toBe(1);
    expect(stage.statistics).toMatchObject({ failed: { count: 1 } });
  });

  test('try anew where the failure was the leader\u2019s own', async () => {
    const stage = new Stage();
    const sent = [stage.send([1], { id: 'a' }), stage.send([1], { id: 'b' }), stage.send([1], { id: 'c' })];
    stage.run(0).fail('worker-lost');
    await stage.heard();
    expect(sent.map(({ told }) => told)).toEqual(['worker-lost', undefined, undefined]);
    expect(stage.run(1).request.id).toBe('b');
    stage.run(1).answer(7);
    await stage.heard();
    expect(sent.map(({ told }) => told)).toEqual(['worker-lost', '7', '7']);
  });

  test('of another priority are not made to wait', () => {
    const stage = new Stage();
    stage.send([1], { priority: 2 });
    stage.send([1], { priority: 1 });
    expect(stage.runs.length).toBe(2);
  });

  test('beyond the limit of followers are run for themselves, with their own deadline and signal', async () => {
    const stage = new Stage({ followersMax: 1 });
    stage.send([1]);
    stage.send([1]);
    const cancellation = new Cancellation();
    const alone = stage.send([1], { deadlineAt: stage.clock.now() + 50 }, cancellation);
    expect(stage.runs.length).toBe(2);
    expect(stage.run(1).request.origin.deadlineAt).toBe(stage.clock.now() + 50);
    cancellation.cancel('cancelled');
    await stage.heard();
    expect(alone.told).toBe('cancelled');
  });
});

describe('large requests', () => {
  const large = new Uint8Array(copySliceBytesMax + 2 * hashSliceBytesMax).fill(3);
  const hashTurns = large.length / hashSliceBytesMax;

  test('are hashed and copied in slices, and share results as small ones do', async () => {
    const stage = new Stage({ entryBytesMax: 100 });
    const first = stage.send(large);
    for (let turn = 0; turn < hashTurns; turn++) stage.clock.endOneTurn();
    expect(stage.runs.length).toBe(0);
    // The last slice of the hash, then two of the copy.
    stage.clock.endTurn();
    expect(stage.runs.length).toBe(1);
    expect(Buffer.compare(stage.run(0).request.inputs[0]?.data ?? large.subarray(1), large)).toBe(0);
    stage.run(0).answer(7);
    await stage.heard();
    const second = stage.send(large);
    const other = stage.send(large.map((byte, index) => (index === large.length - 1 ? 4 : byte)));
    stage.clock.endTurn();
    await stage.heard();
    expect([first.told, second.told, other.told]).toEqual(['7', '7', undefined]);
    expect(stage.runs.length).toBe(2);
  });

  test.each(['cancelled', 'deadline-exceeded'] as const)(
    'that end by %s while they are hashed are read no more',
    async (reason) => {
      const stage = new Stage();
      const cancellation = new Cancellation();
      const sent = stage.send(large, { deadlineAt: stage.clock.now() + 50 }, cancellation);
      stage.clock.endOneTurn();
      if (reason === 'cancelled') cancellation.cancel('cancelled');
      else stage.clock.advance(50);
      await stage.heard();
      // Held time lets turns end first, so a deadline finds it copied and waiting; either way it is told.
      expect(sent.told).toBe(reason);
      expect(stage.sliced.count).toBe(0);
      expect(stage.clock.timerCount).toBe(0);
    },
  );

  test('leave their copying to the next of those who wait', async () => {
    const stage = new Stage();
    const cancellation = new Cancellation();
    const leader = stage.send(large, { id: 'a' }, cancellation);
    const follower = stage.send(large, { id: 'b' });
    for (let turn = 0; stage.sliced.count !== 1 || stage.flights.followers === 0; turn++) {
      if (turn > 100) throw new Error('it is never copied');
      stage.clock.endOneTurn();
    }
    cancellation.cancel('cancelled');
    leader.data.fill(0xee);
    stage.clock.endTurn();
    expect(stage.runs.map(({ request }) => request.id)).toEqual(['b']);
    expect(Buffer.compare(stage.run(0).request.inputs[0]?.data ?? large.subarray(1), large)).toBe(0);
    stage.run(0).answer(5);
    await stage.heard();
    expect([leader.told, follower.told]).toEqual(['cancelled', '5']);
  });

  test('that the last one leaves while they are copied are not run', async () => {
    const stage = new Stage();
    const cancellation = new Cancellation();
    const sent = stage.send(large, {}, cancellation);
    while (stage.flights.size === 0) stage.clock.endOneTurn();
    cancellation.cancel('cancelled');
    stage.clock.endTurn();
    await stage.heard();
    expect(sent.told).toBe('cancelled');
    expect([stage.runs.length, stage.flights.size, stage.sliced.count]).toEqual([0, 0, 0]);
  });

  test('have large results kept in slices, while those who wait are answered at once', async () => {
    const stage = new Stage({ entryBytesMax: 1e9, bytesMax: 1e9 });
    const first = stage.send([1]);
    stage.run(0).answerLarge(new Uint8Array(copySliceBytesMax + 9).fill(8));
    await stage.heard();
    expect(first.told).toBe('8 8 8 8 8 8 8 8 8');
    first.answer?.release();
    expect([stage.run(0).releases, stage.cache.flush()]).toEqual([0, 0]);
    stage.clock.endTurn();
    expect(stage.run(0).releases).toBe(1);
    const second = stage.send([1]);
    await stage.heard();
    expect(second.told).toBe('8 8 8 8 8 8 8 8 8');
    expect(stage.runs.length).toBe(1);
  });

  test('of a model that is gone by then are not kept', async () => {
    const stage = new Stage({ entryBytesMax: 1e9, bytesMax: 1e9 });
    stage.send([1]);
    stage.run(0).answerLarge(new Uint8Array(copySliceBytesMax + 9));
    await stage.heard();
    stage.forget();
    stage.clock.endTurn();
    expect(stage.cache.flush()).toBe(0);
  });
});
