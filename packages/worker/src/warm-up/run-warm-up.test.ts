import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { elementsOf, encodeBytesElements, type LoadSpec, type WarmupSample } from '@millrace/protocol';
import { afterAll, expect, test } from 'vitest';
import type { RunRequest, Session } from '../engine.ts';
import { onnxruntimeEngine } from '../onnxruntime/onnxruntime-engine.ts';
import { gatherModel } from '../testing/onnx-models.ts';
import { runWarmUp } from './run-warm-up.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-warm-up-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, content: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const spec: LoadSpec = {
  model: 1,
  name: 'm',
  version: '1',
  engine: 'onnxruntime',
  path: '',
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'texts', datatype: 'BYTES', shape: [-1, 1] },
    { name: 'ids', datatype: 'INT64', shape: [-1, 3] },
  ],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
  isBatched: true,
  threads: 1,
  isSpinning: false,
};

/** A session that records its requests and can fail on request. */
function keeper({ failure, writes = true }: { readonly failure?: string; readonly writes?: boolean } = {}): {
  readonly session: Session;
  readonly runs: RunRequest[];
} {
  const runs: RunRequest[] = [];
  const session: Session = {
    async run(request) {
      runs.push(request);
      if (failure !== undefined) throw new Error(failure);
      const [data = new Uint8Array(0)] = request.memory.layOut([8]);
      if (writes) request.memory.write(0, new Uint8Array(8));
      return { outputs: [{ index: 0, shape: [1, 2], data }] };
    },
    unload: async () => {},
  };
  return { session, runs };
}

const sample = (inputs: WarmupSample['inputs'], rest: Partial<WarmupSample> = {}): WarmupSample => ({
  name: 's',
  rows: 2,
  runs: 1,
  inputs,
  ...rest,
});

test('each sample is run as often as configured, with equal rows', async () => {
  const { session, runs } = keeper();
  const file = write('x.bin', new Uint8Array(Float32Array.of(1.5, 2).buffer));
  const inputs = [
    { index: 0, shape: [2], fill: { kind: 'file', path: file } },
    { index: 1, shape: [1], fill: { kind: 'zeros' } },
    { index: 2, shape: [3], fill: { kind: 'zeros' } },
  ] as const;
  await runWarmUp(session, { ...spec, warmup: [sample(inputs, { runs: 3 }), sample(inputs, { rows: 1 })] });
  expect(runs.map((run) => run.inputs.map(({ shape }) => shape[0]))).toEqual([
    ...new Array(3).fill([2, 2, 2]),
    [1, 1, 1],
  ]);
  const [x, texts, ids] = runs[0]?.inputs ?? [];
  expect([...elementsOf({ datatype: 'FP32', data: x?.data as Uint8Array })]).toEqual([1.5, 2, 1.5, 2]);
  expect(texts?.data).toEqual(encodeBytesElements(['', '']));
  expect(ids?.data).toEqual(new Uint8Array(2 * 3 * 8));
});

test('values are repeated for every row, in the datatype of the input', async () => {
  const { session, runs } = keeper();
  const inputs = [
    { index: 0, shape: [2], fill: { kind: 'values', values: [3, 5] } },
    { index: 2, shape: [3], fill: { kind: 'values', values: [7, 8, 9] } },
  ] as const;
  await runWarmUp(session, { ...spec, warmup: [sample(inputs)] });
  const [x, ids] = runs[0]?.inputs ?? [];
  expect([...elementsOf({ datatype: 'FP32', data: x?.data as Uint8Array })]).toEqual([3, 5, 3, 5]);
  expect([...elementsOf({ datatype: 'INT64', data: ids?.data as Uint8Array })]).toEqual([7n, 8n, 9n, 7n, 8n, 9n]);
});

test('random values are the same on every load, and in a range that any model takes', async () => {
  const inputs = spec.inputs.map((input, index) => ({
    index,
    shape: input.shape.slice(1),
    fill: { kind: 'random' } as const,
  }));
  const made = await Promise.all(
    [keeper(), keeper()].map(async ({ session, runs }) => {
      await runWarmUp(session, { ...spec, warmup: [sample(inputs)] });
      return runs[0]?.inputs.map(({ data }) => data) ?? [];
    }),
  );
  expect(made[0]).toEqual(made[1]);
  const [x, , ids] = made[0] as Uint8Array[];
  for (const value of elementsOf({ datatype: 'FP32', data: x as Uint8Array }))
    expect(value >= 0 && value < 1).toBe(true);
  for (const id of elementsOf({ datatype: 'INT64', data: ids as Uint8Array }))
    expect(id === 0n || id === 1n).toBe(true);
});

test('a sample that fails is named, with the reason', async () => {
  const inputs = [{ index: 0, shape: [2], fill: { kind: 'zeros' } }] as const;
  const warmup = [sample(inputs, { name: 'cold start' })];
  await expect(runWarmUp(keeper({ failure: 'out of memory' }).session, { ...spec, warmup })).rejects.toThrow(
    'model "m" version 1 failed its warm-up "cold start": out of memory',
  );
});

test.each([
  ['that does not exist', 'gone.bin', undefined, /ENOENT/],
  ['of another size', 'short.bin', new Uint8Array(3), /has 3 bytes, but the input takes 8/],
])('a file %s fails the load', async (_title, name, content, message) => {
  const path = content === undefined ? join(folder, name) : write(name, content);
  const inputs = [{ index: 0, shape: [2], fill: { kind: 'file', path } }] as const;
  await expect(runWarmUp(keeper().session, { ...spec, warmup: [sample(inputs)] })).rejects.toThrow(message);
});

test('a real model that cannot run its sample fails the load with the engine\u2019s message', async () => {
  const gather: LoadSpec = {
    ...spec,
    path: write('gather.onnx', gatherModel()),
    inputs: [
      { name: 'items', datatype: 'FP32', shape: [-1] },
      { name: 'index', datatype: 'INT64', shape: [1] },
    ],
    outputs: [{ name: 'item', datatype: 'FP32', shape: [1] }],
    isBatched: false,
  };
  const session = await onnxruntimeEngine.load(gather);
  const outside = write('index.bin', new Uint8Array(BigInt64Array.of(9n).buffer));
  const inputs = (path: string) =>
    [
      { index: 0, shape: [4], fill: { kind: 'random' } },
      { index: 1, shape: [1], fill: { kind: 'file', path } },
    ] as const;
  const inside = write('inside.bin', new Uint8Array(BigInt64Array.of(3n).buffer));
  await runWarmUp(session, { ...gather, warmup: [sample(inputs(inside), { rows: 1 })] });
  await expect(runWarmUp(session, { ...gather, warmup: [sample(inputs(outside), { rows: 1 })] })).rejects.toThrow(
    /failed its warm-up "s": .*out of data bounds/,
  );
  await session.unload();
});

test('a run that leaves an output unwritten fails the load', async () => {
  const { session } = keeper({ writes: false });
  const warmup = [sample([{ index: 0, shape: [2], fill: { kind: 'zeros' } }])];
  await expect(runWarmUp(session, { ...spec, warmup })).rejects.toThrow(
    /failed its warm-up "s": .*output 0 was not written/,
  );
});
