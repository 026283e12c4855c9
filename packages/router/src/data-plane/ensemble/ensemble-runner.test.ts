import { AnswerHoldings, type EnsembleGraph, planEnsemble } from '@millrace/core';
import {
  Cancellation,
  type CancelReason,
  copyOf,
  InferenceError,
  neverCancelled,
  type Tensor,
} from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { MetricsObserver } from '../../telemetry/metrics-observer.ts';
import { MetricsRegistry } from '../../telemetry/registry.ts';
import type { InferAnswer, InferRequest } from '../infer.ts';
import { HeldClock } from '../testing/held-clock.ts';
import { servedModel } from '../testing/models.ts';
import { overwriteWhenSettled } from '../testing/overwrite-inputs.ts';
import { inferRequest, type RequestText } from '../testing/requests.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { EnsembleRunner, type EnsembleRunnerParts } from './ensemble-runner.ts';

/** a → first → b; b → left → c; b → right → d. */
const fork: EnsembleGraph = {
  inputs: ['a'],
  outputs: ['c', 'd'],
  steps: [
    { model: 'first', version: '', inputs: [{ name: 'x', tensor: 'a' }], outputs: [{ name: 'y', tensor: 'b' }] },
    { model: 'left', version: '7', inputs: [{ name: 'x', tensor: 'b' }], outputs: [{ name: 'y', tensor: 'c' }] },
    { model: 'right', version: '', inputs: [{ name: 'x', tensor: 'b' }], outputs: [{ name: 'y', tensor: 'd' }] },
  ],
};

/** A step in progress, to be ended by the test. */
interface Step {
  readonly request: InferRequest;
  cancelledFor: CancelReason | undefined;
  answers(value: number, bytes?: number): Promise<void>;
  fails(code: 'inference-failed' | 'unknown-model' | 'model-full'): Promise<void>;
}

function ensembleHarness(limits: Partial<EnsembleRunnerParts> = {}) {
  const planning = planEnsemble(fork);
  if ('problems' in planning) throw new Error('the plan has problems');
  const clock = new HeldClock();
  const observer = new MetricsObserver(new MetricsRegistry(), { version: '0', node: '0' });
  const model = servedModel(
    [{ name: 'a', datatype: 'INT32', shape: [-1, 1] }],
    ['c', 'd'].map((name) => ({ name, datatype: 'INT32', shape: [-1, 1] }) as const),
    { name: 'e', platform: 'ensemble' },
  );
  const steps: Step[] = [];
  const released: string[] = [];
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const runner = new EnsembleRunner({
    plan: planning.plan,
    inflightMax: Number.POSITIVE_INFINITY,
    waitingMax: 1,
    waitingBytesMax: 100,
    holdings: new AnswerHoldings(1_000_000),
    clock,
    observer: observer.observerFor('e', '1'),
    infer: (request, signal) => {
      const { promise, resolve, reject } = deferred();
      const step: Step = {
        request,
        cancelledFor: undefined,
        answers(value, bytes = 4) {
          const outputs = request.target.outputs.map((name) => tensorOf(name, value, bytes));
          const release = () => released.push(`${request.target.model} ${value}`);
          resolve({ model: request.target.model, version: '1', id: '', outputs, release });
          return settled();
        },
        fails(code) {
          reject(new InferenceError(code, 'because', { retryAfterMs: 5 }));
          return settled();
        },
      };
      signal.onCancel((reason) => {
        step.cancelledFor = reason;
        reject(new InferenceError(reason, 'cancelled by the test'));
      });
      steps.push(step);
      return promise;
    },
    ...limits,
  });
  const send = (
    overrides: Partial<RequestText> = {},
    signal: Cancellation | typeof neverCancelled = neverCancelled,
  ) => {
    const valid = ValidInferRequest.from(requestOf(overrides), model);
    const sent: { answer?: InferAnswer; error?: InferenceError } = {};
    const answered = runner.run(valid, signal);
    overwriteWhenSettled(answered, valid.inputs);
    answered.then(
      (answer) => {
        sent.answer = answer;
      },
      (error: InferenceError) => {
        sent.error = error;
      },
    );
    return sent;
  };
  const step = (name: string): Step => {
    const found = steps.findLast(({ request }) => request.target.model === name);
    if (found === undefined) throw new Error(`${name} has not started`);
    return found;
  };
  return { clock, send, step, steps, released, settled, statistics: () => observer.statisticsOf('e', '1') };
}

/** A promise that the test settles (Node 20 has no Promise.withResolvers). */
function deferred() {
  let settle: { resolve: (answer: InferAnswer) => void; reject: (error: Error) => void } | undefined;
  const promise = new Promise<InferAnswer>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (settle === undefined) throw new Error('a promise calls its executor at once');
  return { promise, ...settle };
}

function tensorOf(name: string, value: number, bytes = 4): Tensor {
  const data = new Uint8Array(bytes);
  data.set(new Uint8Array(Int32Array.of(value).buffer));
  return { name, datatype: 'INT32', shape: [1, bytes / 4], data };
}

function requestOf(overrides: Partial<RequestText>): InferRequest {
  return inferRequest({
    model: 'e',
    id: 'r1',
    parameters: new Map([['tone', 'mild']]),
    inputs: [tensorOf('a', 1)],
    ...overrides,
  });
}

const elementOf = (tensor: Tensor | undefined) => new Int32Array(copyOf(tensor?.data ?? new Uint8Array()).buffer)[0];

describe('EnsembleRunner', () => {
  test('starts a step as soon as its inputs exist and answers with the outputs in the wanted order', async () => {
    const { send, step, steps } = ensembleHarness();
    const sent = send({ outputs: ['d', 'c'] });
    expect(steps.map(({ request }) => request.target.model)).toEqual(['first']);
    await step('first').answers(10);
    expect(steps.map(({ request }) => [request.target.model, request.target.version])).toEqual([
      ['first', ''],
      ['left', '7'],
      ['right', ''],
    ]);
    expect(step('left').request.inputs.map((input) => [input.name, elementOf(input)])).toEqual([['x', 10]]);
    await step('right').answers(30);
    expect(sent.answer).toBeUndefined();
    await step('left').answers(20);
    expect(sent.answer?.outputs.map((output) => [output.name, elementOf(output)])).toEqual([
      ['d', 30],
      ['c', 20],
    ]);
    expect(sent.answer).toMatchObject({ model: 'e', version: '1', id: 'r1' });
  });

  test('does not run a step that only outputs that were not requested need', async () => {
    const { send, step, steps } = ensembleHarness();
    const sent = send({ outputs: ['c'] });
    await step('first').answers(10);
    await step('left').answers(20);
    expect(steps).toHaveLength(2);
    expect(sent.answer?.outputs).toHaveLength(1);
  });

  test('holds an answer until its last reader has ended, requested outputs until the caller is done, each released once', async () => {
    const { send, step, released } = ensembleHarness();
    const sent = send();
    await step('first').answers(10);
    await step('left').answers(20);
    expect(released).toEqual([]);
    await step('right').answers(30);
    expect(released).toEqual(['first 10']);
    sent.answer?.release();
    expect(released).toEqual(['first 10', 'left 20', 'right 30']);
  });

  test('a request whose step answers with more than may be held fails, and others go on', async () => {
    const holdings = new AnswerHoldings(1_000_000);
    const { send, steps, step, released } = ensembleHarness({ holdings });
    const sent = ['ann', 'ann', 'ann', 'bob'].map((caller) => send({ caller }));
    const firsts = steps.slice(0, 4);
    for (const [index, first] of firsts.entries()) await first.answers(index, 400_000);
    expect(sent.map(({ error }) => error?.code)).toEqual([undefined, 'caller-full', 'caller-full', undefined]);
    expect(sent[1]?.error?.message).toMatch(
      /^step 0 \('first'\) of ensemble 'e': the answers of steps of this caller hold as much memory as they may \(400000 of 1000000 bytes are taken\)/,
    );
    expect(released).toEqual(['first 1', 'first 2']);
    expect(holdings.bytes).toBe(800_000);
    await step('left').answers(30);
    await step('right').answers(30, 100_000);
    // The last answer is not held for any step.
    expect(sent[3]?.answer?.outputs).toHaveLength(2);
    expect(holdings.bytes).toBe(400_000);
    await steps
      .find(({ request }) => request.origin.caller === 'ann' && request.target.model === 'left')
      ?.fails('model-full');
    expect(sent[0]?.error?.code).toBe('model-full');
    expect(holdings.bytes).toBe(0);
  });

  test('steps inherit the caller, the priority, the parameters, the sequence and the deadline', async () => {
    const { send, step, clock } = ensembleHarness();
    const sequence = { id: 4n, isStart: true, isEnd: false };
    const deadlineAt = clock.now() + 100;
    send({ deadlineAt, priority: 2, caller: 'ann', sequence, queueTimeoutMs: 7, trail: ['outer'] });
    const inherited = {
      target: { sequence, id: 'r1' },
      origin: { deadlineAt, priority: 2, caller: 'ann', queueTimeoutMs: 7, trail: ['outer', 'e'] },
    };
    expect(step('first').request).toMatchObject(inherited);
    clock.advance(40);
    await step('first').answers(1);
    expect(step('left').request).toMatchObject(inherited);
    expect(step('left').request.target.parameters.get('tone')).toBe('mild');
  });

  test('a failing step fails the request with its name and code; the other steps are cancelled and held answers are released', async () => {
    const { send, step, released, settled } = ensembleHarness();
    const sent = send();
    await step('first').answers(10);
    await step('left').fails('inference-failed');
    await settled();
    expect(step('right').cancelledFor).toBe('cancelled');
    expect(sent.error).toMatchObject({
      code: 'inference-failed',
      message: "step 1 ('left') of ensemble 'e': because",
      retryAfterMs: 5,
    });
    expect(released).toEqual(['first 10']);
  });

  test('an answer that arrives after its request failed is released', async () => {
    const { send, step, released, settled } = ensembleHarness();
    const sent = send();
    await step('first').answers(10);
    void step('left').answers(20);
    await step('right').fails('model-full');
    await settled();
    expect(sent.error?.code).toBe('model-full');
    expect(new Set(released)).toEqual(new Set(['first 10', 'left 20']));
    expect(released).toHaveLength(2);
  });

  test('a step whose model is unknown makes the ensemble not ready, not unknown', async () => {
    const { send, step } = ensembleHarness();
    const sent = send();
    await step('first').fails('unknown-model');
    expect(sent.error?.code).toBe('model-not-ready');
  });

  test.each(['cancelled', 'deadline-exceeded'] as const)(
    'a request that is %s takes its steps with it',
    async (reason) => {
      const { send, step, settled } = ensembleHarness();
      const cancellation = new Cancellation();
      const sent = send({}, cancellation);
      await step('first').answers(10);
      cancellation.cancel(reason);
      await settled();
      expect([step('left').cancelledFor, step('right').cancelledFor]).toEqual([reason, reason]);
      expect(sent.error?.code).toBe(reason);
    },
  );

  test('max_inflight_requests admits the next request when one has ended, and refuses those beyond the queue limit', async () => {
    const { send, step, steps } = ensembleHarness({ inflightMax: 1 });
    const first = send({ outputs: ['c'] });
    const second = send({ id: 'r2', outputs: ['c'] });
    const third = send();
    await Promise.resolve();
    expect(third.error).toMatchObject({ code: 'model-full' });
    expect(third.error?.message).toMatch(
      /1 requests in flight \(max_inflight_requests\), and its queue is full \(at most 1 requests\)/,
    );
    expect(steps).toHaveLength(1);
    await step('first').answers(10);
    await step('left').answers(20);
    expect(first.answer).toBeDefined();
    expect(steps.at(-1)?.request).toMatchObject({ target: { model: 'first', id: 'r2' } });
    await step('first').fails('inference-failed');
    expect(second.error?.code).toBe('inference-failed');
  });

  test('a waiting request ends at its deadline or when its caller cancels, and its place in the queue is free again', async () => {
    const { send, steps, clock, settled, statistics } = ensembleHarness({ inflightMax: 1 });
    send();
    const late = send({ deadlineAt: clock.now() + 50 });
    clock.advance(51);
    await settled();
    expect(late.error?.code).toBe('deadline-exceeded');
    const cancellation = new Cancellation();
    const abandoned = send({}, cancellation);
    cancellation.cancel('cancelled');
    await settled();
    expect(abandoned.error?.code).toBe('cancelled');
    expect(steps).toHaveLength(1);
    expect(clock.timerCount).toBe(0);
    expect(statistics()).toMatchObject({ answered: { count: 0 }, failed: { count: 2 } });
  });

  test('counts its requests like any other model', async () => {
    const { send, step, clock, statistics } = ensembleHarness();
    send();
    await step('first').answers(10);
    clock.advance(30);
    await step('left').answers(20);
    await step('right').answers(20);
    expect(statistics()).toMatchObject({
      answered: { count: 1 },
      failed: { count: 0 },
      batchesRun: 1,
      rowsRun: 1,
      queue: { count: 1, ns: 0n },
      computeInfer: { count: 1, ns: 30_000_000n },
    });
  });
});
