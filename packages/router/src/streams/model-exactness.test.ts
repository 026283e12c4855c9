import { type CancelSignal, elementsOf, InferenceError, type Tensor } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { InferAnswer, InferRequest } from '../data-plane/infer.ts';
import { payloadCodec } from '../edges/streams/link-frame.ts';
import type { ModelView } from '../model/model-view.ts';
import type { Exactness } from './exactness.ts';
import { ModelExactness } from './model-exactness.ts';
import { StreamModel } from './stream-model.ts';

const spec = (name: string) => ({ name, datatype: 'FP32' as const, shape: [-1, 2] });

/** Adds inputs up; the sum of each row is its state. */
const adding: ModelView = {
  name: 'adding',
  version: '1',
  platform: '',
  inputs: [spec('value'), spec('state')],
  outputs: [spec('total'), spec('state_out')],
  isBatched: true,
  rowsMax: 8,
  labels: new Map(),
  streamStates: [{ input: 'state', output: 'state_out' }],
  config: {},
};

type Numbers = readonly number[];
/** Gives the new state from the value and the state, all rows of both. */
type Formula = (value: Numbers, state: Numbers, rows: number) => Numbers;

const add: Formula = (value, state) => value.map((one, index) => one + (state[index] as number));

interface Trial {
  readonly exactness: ModelExactness;
  readonly runs: InferRequest[];
  readonly found: Exactness[];
  /** Calls back the timers that were set with this delay. */
  readonly pass: (delayMs: number) => void;
}

/** `answer`: what a run does instead of answering. */
function trialOf(formula: Formula, answer?: (run: number, signal: CancelSignal) => Promise<void>): Trial {
  const runs: InferRequest[] = [];
  const found: Exactness[] = [];
  const timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
  const exactness = new ModelExactness({
    inference: {
      inferMany: async (request, signal): Promise<InferAnswer> => {
        runs.push(request);
        await answer?.(runs.length, signal);
        const [value, state] = request.inputs as readonly [Tensor, Tensor];
        const numbers = (tensor: Tensor): Numbers => [...(elementsOf(tensor) as Float32Array)];
        const next = Float32Array.from(formula(numbers(value), numbers(state), value.shape[0] as number));
        const data = new Uint8Array(next.buffer);
        const outputs = adding.outputs.map(({ name, datatype }) => ({ name, datatype, shape: value.shape, data }));
        return { model: 'adding', version: '1', id: '', outputs, release: () => {} };
      },
    },
    codec: payloadCodec,
    clock: {
      after: (delayMs, callback) => {
        const timer = { delayMs, callback };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    },
    probeMsMax: 5000,
    onProbed: (_model, result) => void found.push(result),
  });
  const pass = (delayMs: number): void => {
    for (const timer of timers.filter((one) => one.delayMs === delayMs)) timer.callback();
  };
  return { exactness, runs, found, pass };
}

const probed = { model: new StreamModel(adding), revision: { key: 'adding:1' }, digest: 'files', sharesRuns: true };

test('a model whose rows have nothing to do with each other is exact; it is probed once', async () => {
  const { exactness, runs, found } = trialOf(add);
  const [first, second] = await Promise.all([exactness.of(probed), exactness.of(probed)]);
  expect([first?.verdict, second]).toEqual(['exact', first]);
  expect(new Set(runs.map(({ inputs }) => inputs[0]?.shape[0]))).toEqual(new Set([1, 2, 3, 8]));
  expect(runs.every(({ target }) => target.isAlone === true && target.pinnedTo === probed.revision)).toBe(true);
  const before = runs.length;
  await exactness.of(probed);
  expect([runs.length, found.length]).toEqual([before, 1]);
  // Other files are another model.
  await exactness.of({ ...probed, digest: 'others' });
  expect(runs.length).toBe(2 * before);
});

test('every probe sends the same inputs', async () => {
  const inputsOf = async (): Promise<readonly string[]> => {
    const { exactness, runs } = trialOf(add);
    await exactness.of(probed);
    return runs.map(({ inputs }) => inputs.map(({ data }) => Buffer.from(data).toString('hex')).join(' '));
  };
  const first = await inputsOf();
  expect(await inputsOf()).toEqual(first);
  expect(new Set(first.map((text) => text.split(' ')[0])).size).toBeGreaterThan(10);
});

test.each<[string, Formula]>([
  [
    'by the rows beside it',
    (value, state, rows) => add(value, state, rows).map((one) => one + value.length / rows / 8 + rows),
  ],
  [
    'in a large run only',
    (value, state, rows) => add(value, state, rows).map((one) => (rows === 8 ? one * 1.0000002 : one)),
  ],
  ['by its place in the run', (value, state, rows) => add(value, state, rows).map((one, index) => one + (index >> 1))],
])('a model whose bits are changed %s runs its steps alone', async (_how, formula) => {
  const { exactness } = trialOf(formula);
  expect(await exactness.of(probed)).toMatchObject({ verdict: 'alone', reason: expect.stringContaining('rows') });
  // Nothing else is in its runs anyway.
  expect(await exactness.of({ ...probed, digest: 'b', sharesRuns: false })).toMatchObject({ verdict: 'exact' });
});

test('a model whose inputs are padded in company runs its steps alone', async () => {
  const { exactness } = trialOf(add);
  const shaping = { inputs: [], outputs: [], padRatioMax: 2, engine: {} } as unknown as NonNullable<
    ModelView['shaping']
  >;
  const model = new StreamModel({ ...adding, shaping });
  expect(await exactness.of({ ...probed, model })).toMatchObject({ verdict: 'alone' });
});

test('a model that gives other bits in each run is inexact', async () => {
  let run = 0;
  const { exactness } = trialOf((value, state, rows) => {
    run += 1;
    return add(value, state, rows).map((one) => one + run);
  });
  expect(await exactness.of(probed)).toMatchObject({ verdict: 'inexact' });
});

test('a probe that takes too long ends without a verdict, and the next stream has it tried again', async () => {
  let isSlow: boolean = true;
  const { exactness, found, pass } = trialOf(add, async (_run, signal) => {
    if (!isSlow) return;
    await new Promise<void>((_resolve, reject) => {
      signal.onCancel((reason) => reject(new InferenceError(reason, 'given up')));
    });
  });
  const waiting = exactness.of(probed);
  pass(5000);
  expect(await waiting).toEqual({
    verdict: 'unproven',
    reason: 'the probe took longer than 5000 ms (streams.probeSecondsMax)',
  });
  isSlow = false;
  expect((await exactness.of(probed))?.verdict).toBe('exact');
  expect(found.map(({ verdict }) => verdict)).toEqual(['unproven', 'exact']);
});

test('a probe waits for capacity, as long as it may', async () => {
  let isFull: boolean = true;
  const full = new InferenceError('model-full', 'the queue is full');
  const { exactness, runs, pass } = trialOf(add, async () => {
    if (isFull) throw full;
  });
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const waiting = exactness.of(probed);
  await settled();
  pass(20);
  await settled();
  expect(runs).toHaveLength(2);
  isFull = false;
  pass(20);
  expect((await waiting)?.verdict).toBe('exact');
  isFull = true;
  const hopeless = exactness.of({ ...probed, digest: 'b' });
  await settled();
  pass(5000);
  expect((await hopeless)?.verdict).toBe('unproven');
});

test('a model that refuses the generated inputs is unproven, with the reason', async () => {
  const refusal = new InferenceError('inference-failed', 'index out of range');
  const { exactness } = trialOf(add, () => Promise.reject(refusal));
  const reason = 'the probe failed: index out of range';
  expect(await exactness.of(probed)).toEqual({ verdict: 'unproven', reason });
});

test('free sizes are those of the first warm-up sample', async () => {
  const { exactness, runs } = trialOf(add);
  const free = { ...spec('value'), shape: [-1, -1] };
  const config = { model_warmup: [{ name: 'w', inputs: { value: { data_type: 'TYPE_FP32', dims: ['2'] } } }] };
  const model = new StreamModel({ ...adding, inputs: [free, spec('state')], config });
  expect((await exactness.of({ ...probed, model }))?.verdict).toBe('exact');
  expect(runs[0]?.inputs[0]?.shape).toEqual([1, 2]);
});

test('models without state are not probed', async () => {
  const { exactness, runs } = trialOf(add);
  const { streamStates: _, ...stateless } = adding;
  expect(await exactness.of({ ...probed, model: new StreamModel(stateless) })).toBeUndefined();
  expect(runs).toEqual([]);
});
