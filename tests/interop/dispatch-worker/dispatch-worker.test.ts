/** A worker in another language, written from docs/reference/dispatch.md alone, instead of ours. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dispatchVersions, errorCatalogue, type LoadSpec, type Tensor, type TensorSpec } from '@millrace/protocol';
import type { LocalLaneOptions } from '@millrace/router/internal';
import { describe, expect, test } from 'vitest';
import { halfBytes, useLocalLanes } from '../../contracts/local-lanes.ts';
import { floats } from '../../contracts/tensor-bytes.ts';

const lanes = useLocalLanes();
const workerPath = fileURLToPath(new URL('worker.py', import.meta.url));
// A worker has no PATH; and what `python3` leads to may be a script that needs one.
const execPath = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();

function open(environment: Readonly<Record<string, string>> = {}, options: Partial<LocalLaneOptions> = {}) {
  const complete = { PYTHONDONTWRITEBYTECODE: '1', ...environment };
  return lanes.open({ workerPath, execPath, environment: complete, ...options });
}

function spec(model: number, name: string, inputs: readonly TensorSpec[]): LoadSpec {
  const outputs: TensorSpec[] = [{ name: 'output', datatype: 'FP32', shape: [-1, -1] }];
  const rest = { isBatched: true, threads: 1, isSpinning: false };
  return { model, name, version: '1', engine: 'onnxruntime', path: `/nowhere/${name}`, inputs, outputs, ...rest };
}

const row = (name: string): TensorSpec => ({ name, datatype: 'FP32', shape: [-1, -1] });
const add = spec(1, 'add', [row('left'), row('right')]);
const fail = spec(2, 'fail', [{ name: 'number', datatype: 'INT32', shape: [-1, 1] }]);
const ask = spec(3, 'ask', [row('input')]);

const pair = (left: Uint8Array, right: Uint8Array) => [
  { index: 0, shape: [1, left.length / 4], data: left },
  { index: 1, shape: [1, right.length / 4], data: right },
];
const number = (value: number) => [{ index: 0, shape: [1, 1], data: new Uint8Array(Int32Array.of(value).buffer) }];
const many = (count: number, value: number) => new Uint8Array(new Float32Array(count).fill(value).buffer);
const valuesOf = (data: Uint8Array | undefined) => [...new Float32Array(Uint8Array.from(data ?? []).buffer)];

describe('answers', () => {
  test('small tensors in the frame', async () => {
    const probe = open();
    await probe.load(add);
    const batch = probe.dispatch(1, pair(floats(1, 2, 3), floats(10, 20, 30)), [0]);
    const { outputs, region, runMicros } = await probe.answered(batch);
    expect(outputs.map(({ index, shape }) => [index, shape])).toEqual([[0, [1, 3]]]);
    expect(valuesOf(outputs[0]?.data)).toEqual([11, 22, 33]);
    expect(runMicros).toBeGreaterThan(0);
    region.release();
  });

  test('large tensors in shared memory, which is used again and again', async () => {
    const probe = open();
    await probe.load(add);
    const count = 50_000;
    for (let round = 0; round < 12; round++) {
      const { outputs, region } = await probe.answered(
        probe.dispatch(1, pair(many(count, round), many(count, 0.5)), [0]),
      );
      expect(outputs[0]?.data.buffer.byteLength).toBe(2 * halfBytes);
      expect(new Set(valuesOf(outputs[0]?.data))).toEqual(new Set([round + 0.5]));
      region.release();
    }
    expect(12 * 4 * count).toBeGreaterThan(halfBytes);
  });

  test('large tensors in the frame, where shared memory is full or not mapped', async () => {
    const reasons: string[] = [];
    const unmapped = open({ WORKER_MAPS: 'no' }, { onSharedMemoryUnavailable: (reason) => reasons.push(reason) });
    const full = open({}, { sharedMemoryBytesMax: 2 * 65_536 });
    for (const probe of [unmapped, full]) {
      await probe.load(add);
      const { outputs } = await probe.answered(probe.dispatch(1, pair(many(30_000, 1), many(30_000, 2)), [0]));
      expect(outputs[0]?.data.length).toBe(120_000);
      expect(new Set(valuesOf(outputs[0]?.data))).toEqual(new Set([3]));
    }
    expect(reasons).toEqual([`worker process ${unmapped.link.pid} could not map the shared memory it inherited`]);
  });

  test('an answer for which there is no room and that is longer than a frame may be fails as unsupported', async () => {
    const probe = open({}, { sharedMemoryBytesMax: 2 * 65_536, messageBytesMax: 16_384 });
    await probe.load(add);
    const dispatch = () => probe.dispatch(1, pair(many(5000, 1), many(5000, 1)), [0]);
    const held = [];
    for (let round = 0; round < 3; round++) held.push((await probe.answered(dispatch())).region);
    expect(await probe.failed(dispatch())).toMatchObject({
      code: 'unsupported',
      message: 'the answer of 20000 bytes is longer than a frame may be',
    });
    for (const region of held) region.release();
    (await probe.answered(dispatch())).region.release();
  });
});

describe('failures', () => {
  test.each(['invalid-request', 'inference-failed', 'internal'] as const)('%s crosses by its number', async (code) => {
    const probe = open();
    await probe.load(fail);
    const failed = await probe.failed(probe.dispatch(2, number(errorCatalogue[code].number), [0]));
    expect(failed).toMatchObject({ code, message: 'as it was asked to' });
  });

  test('a number that nobody knows is told, and the worker lives on', async () => {
    const probe = open();
    await probe.load(fail);
    expect(await probe.failed(probe.dispatch(2, number(7777), [0]))).toMatchObject({
      code: 'inference-failed',
      message: 'unknown error number 7777: as it was asked to',
    });
    expect(await probe.failed(probe.dispatch(2, number(1), [0]))).toMatchObject({ code: 'invalid-request' });
  });

  test('a model it does not have is refused for good, and one that was unloaded is unknown', async () => {
    const probe = open();
    probe.call((link) => link.send({ kind: 'load', spec: spec(9, 'paint', []) }));
    const refusal = await probe.until('load-failed');
    expect(refusal).toEqual({
      kind: 'load-failed',
      model: 9,
      message: "this worker has no model 'paint'",
      isFinal: true,
    });
    await probe.load(add);
    probe.call((link) => link.send({ kind: 'unload', model: 1 }));
    expect((await probe.failed(probe.dispatch(1, pair(floats(1), floats(1)), [0]))).code).toBe('unknown-model');
  });
});

describe('calls', () => {
  const half = (value: number): Tensor => ({ name: 'y', datatype: 'FP32', shape: [1, 1], data: floats(value) });
  const question = [{ index: 0, shape: [1, 1], data: floats(8) }];

  test('another model is asked and its answer passed on, from the frame and from shared memory', async () => {
    const probe = open();
    await probe.load(ask);
    const batch = probe.dispatch(3, question, [0]);
    const call = await probe.until('call');
    expect(call).toMatchObject({ batch, model: 'half', version: '', outputs: [], timeoutMs: Number.POSITIVE_INFINITY });
    expect(call.inputs.map(({ name, datatype, shape }) => [name, datatype, shape])).toEqual([['x', 'FP32', [1, 1]]]);
    expect(valuesOf(call.inputs[0]?.data)).toEqual([8]);
    probe.answerCall(call, [half(4)]);
    expect(valuesOf((await probe.answered(batch)).outputs[0]?.data)).toEqual([4]);

    const large = probe.dispatch(3, question, [0]);
    const second = await probe.until('call', (message) => message.batch === large);
    probe.answerCall(second, [{ ...half(0), shape: [1, 5000], data: many(5000, 4) }]);
    const { outputs, region } = await probe.answered(large);
    expect(outputs[0]?.data.buffer.byteLength).toBe(2 * halfBytes);
    expect(outputs[0]?.shape).toEqual([1, 5000]);
    region.release();
  });

  test('a call that fails hands on its code', async () => {
    const probe = open();
    await probe.load(ask);
    const batch = probe.dispatch(3, question, [0]);
    const { call } = await probe.until('call');
    probe.call((link) => link.send({ kind: 'call-failed', call, code: 'model-full', message: 'the queue is full' }));
    expect(await probe.failed(batch)).toMatchObject({ code: 'model-full', message: 'the queue is full' });
  });

  test('what is cancelled fails as cancelled: the batch that waits for a call, and the one behind it', async () => {
    const probe = open();
    await probe.load(ask);
    await probe.load(add);
    const asking = probe.dispatch(3, question, [0]);
    await probe.until('call');
    const waiting = probe.dispatch(1, pair(floats(1), floats(1)), [0]);
    probe.call((link) => link.send({ kind: 'cancel', batch: waiting }));
    probe.call((link) => link.send({ kind: 'cancel', batch: asking }));
    expect((await probe.failed(asking)).code).toBe('cancelled');
    expect((await probe.failed(waiting)).code).toBe('cancelled');
    await probe.answered(probe.dispatch(1, pair(floats(1), floats(1)), [0]));
  });
});

describe('its life', () => {
  const { oldest, newest } = dispatchVersions;

  test('it is refused when it speaks no version that the router speaks, with both named', async () => {
    const { reason } = await open({ WORKER_VERSIONS: `${newest + 1}-${newest + 2}` }).until('gone');
    expect(reason).toContain(`the worker supports versions ${newest + 1} to ${newest + 2} of the dispatch protocol`);
    expect(reason).toContain(`and the router supports version ${newest}: run the worker of the router’s release`);
  });

  test('it works when it speaks other versions too', async () => {
    const probe = open({ WORKER_VERSIONS: `${oldest - 1}-${newest + 2}` });
    await probe.load(add);
    await probe.answered(probe.dispatch(1, pair(floats(1), floats(1)), [0]));
  });

  test('it answers what it holds when it is stopped, and exits with code 0', async () => {
    const probe = open();
    await probe.load(add);
    const batches = [1, 2].map((value) => probe.dispatch(1, pair(floats(value), floats(1)), [0]));
    probe.call((link) => link.stop());
    expect((await probe.until('gone')).reason).toBe(`worker process ${probe.link.pid} exited with code 0`);
    for (const batch of batches) await probe.answered(batch);
  });
});
