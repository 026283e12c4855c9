import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LoadSpec, TensorSpec } from '@millrace/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunRequest, RunResult, Session } from '../engine.ts';
import { arithmeticModel, usedMemory } from '../testing/index.ts';
import { FixedSizesSession } from './fixed-sizes-session.ts';
import { onnxruntimeEngine } from './onnxruntime-engine.ts';

const fp32 = (name: string): TensorSpec => ({ name, datatype: 'FP32', shape: [-1, 2] });
let folder: string;
let spec: LoadSpec;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-sizes-'));
  const path = join(folder, 'model.onnx');
  writeFileSync(path, arithmeticModel(2));
  spec = {
    model: 1,
    name: 'subject',
    version: '1',
    engine: 'onnxruntime',
    path,
    inputs: [fp32('left'), fp32('right')],
    outputs: [fp32('sum'), fp32('product')],
    isBatched: true,
    threads: 1,
    isSpinning: false,
    batchSizes: [1, 4, 8],
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

function requestOf(rows: number, seed = 0): RunRequest {
  const values = Float32Array.from({ length: rows * 2 }, (_, index) => index + 1 + seed);
  const data = new Uint8Array(values.buffer);
  const shape = [rows, 2];
  return {
    inputs: [
      { index: 0, shape, data },
      { index: 1, shape, data },
    ],
    outputs: [1, 0],
    memory: usedMemory().memory,
  };
}

/** Records how many rows it was run with. */
function observed(session: Session, seen: number[]): Session {
  return {
    run(request) {
      seen.push(request.inputs[0]?.shape[0] ?? 0);
      return session.run(request);
    },
    unload: () => session.unload(),
  };
}

test('a batch of any size is answered with its own rows, whatever was run before', async () => {
  const session = await onnxruntimeEngine.load(spec);
  for (const rows of [3, 8, 1, 2, 5, 4, 7, 6]) {
    const { outputs } = await session.run(requestOf(rows, rows));
    const left = Array.from({ length: rows * 2 }, (_, index) => index + 1 + rows);
    expect(outputs.map(({ index, shape }) => [index, shape])).toEqual([
      [1, [rows, 2]],
      [0, [rows, 2]],
    ]);
    const [product, sum] = outputs.map(({ data }) => [
      ...new Float32Array(data.buffer, data.byteOffset, data.length / 4),
    ]);
    expect(product).toEqual(left.map((value) => value * value));
    expect(sum).toEqual(left.map((value) => value + value));
  }
  await session.unload();
});

test('each session is run with its own size only', async () => {
  const seen: Record<number, number[]> = { 1: [], 4: [], 8: [] };
  const { batchSizes = [], ...plain } = spec;
  const sessions = await Promise.all(
    batchSizes.map(async (rows) => ({
      rows,
      session: observed(await onnxruntimeEngine.load(plain), seen[rows] ?? []),
    })),
  );
  const session = new FixedSizesSession(sessions, spec);
  for (const rows of [1, 2, 3, 4, 5, 8]) await session.run(requestOf(rows));
  expect(seen).toEqual({ 1: [1], 4: [4, 4, 4], 8: [8, 8] });
  await session.unload();
});

const sumsOf = ({ outputs }: RunResult): readonly number[] => {
  const { data } = outputs[1] as RunResult['outputs'][number];
  return [...new Float32Array(data.buffer, data.byteOffset, data.length / 4)];
};

test('more rows than the largest size are run as they are', async () => {
  const session = await onnxruntimeEngine.load(spec);
  const result = await session.run(requestOf(9));
  expect(sumsOf(result)).toEqual(Array.from({ length: 18 }, (_, index) => 2 * (index + 1)));
  await session.unload();
});

test('inputs with unequal first sizes, or without rows, are not padded', async () => {
  const session = await onnxruntimeEngine.load(spec);
  const { inputs, outputs, memory } = requestOf(3);
  const [left, right] = [inputs[0] as Batch, requestOf(1).inputs[1] as Batch];
  const result = await session.run({ inputs: [left, right], outputs, memory });
  expect(result.outputs.map(({ shape }) => shape)).toEqual([
    [3, 2],
    [3, 2],
  ]);
  expect(sumsOf(result)).toEqual([2, 4, 4, 6, 6, 8]);
  expect((await session.run(requestOf(0))).outputs.map(({ shape }) => shape)).toEqual([
    [0, 2],
    [0, 2],
  ]);
  await session.unload();
});

type Batch = RunRequest['inputs'][number];

test('an input whose size does not match its shape is refused', async () => {
  const session = await onnxruntimeEngine.load(spec);
  const { inputs, outputs, memory } = requestOf(3);
  const short = inputs.map((input) => ({ ...input, data: input.data.subarray(0, 22) }));
  await expect(session.run({ inputs: short, outputs, memory })).rejects.toThrow('has 22 bytes');
  const uneven = inputs.map((input, index) => (index === 0 ? input : { ...input, shape: [2, 2] }));
  await expect(session.run({ inputs: uneven, outputs, memory })).rejects.toThrow('has 24 bytes');
  await session.unload();
});
