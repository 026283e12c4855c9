import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Datatype, LoadSpec, TensorSpec } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GuardedOutputMemory } from '../guarded-output-memory.ts';
import { randomBitsFrom } from '../random-bits.ts';
import { arithmeticModel, identityModel, onnxModelFrom, usedMemory } from '../testing/index.ts';
import { onnxruntimeEngine } from './onnxruntime-engine.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-engine-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const fp32 = (name: string, shape: readonly number[]): TensorSpec => ({ name, datatype: 'FP32', shape });

function specFor(model: Uint8Array, overrides: Partial<LoadSpec> = {}): LoadSpec {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, model);
  return {
    model: 1,
    name: 'subject',
    version: '3',
    engine: 'onnxruntime',
    path,
    inputs: [fp32('left', [-1, 4]), fp32('right', [-1, 4])],
    outputs: [fp32('sum', [-1, 4]), fp32('product', [-1, 4])],
    isBatched: true,
    threads: 1,
    isSpinning: false,
    ...overrides,
  };
}

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

describe('loading', () => {
  test.each<[string, Partial<LoadSpec>, RegExp]>([
    [
      'an input the model does not have',
      { inputs: [fp32('left', [-1, 4]), fp32('wrong', [-1, 4])] },
      /no input "wrong"; its inputs are "left", "right": correct the configuration; the model needs input "right" \(FP32\)/,
    ],
    ['an output the model does not have', { outputs: [fp32('total', [-1, 4])] }, /no output "total"; its outputs are/],
    [
      'another type',
      { outputs: [{ name: 'sum', datatype: 'INT64', shape: [-1, 4] }] },
      /output "sum" is FP32 in the model and INT64 in the configuration: make it FP32/,
    ],
    [
      'another shape',
      { inputs: [fp32('left', [-1, 5]), fp32('right', [-1, 4])] },
      /input "left" has shape \[batch, 4\] in the model and \[-1, 5\] in the configuration/,
    ],
    ['another rank', { outputs: [fp32('sum', [-1])] }, /output "sum" has shape \[batch, 4\] in the model and \[-1\]/],
    [
      'a type the engine cannot pass',
      { outputs: [{ name: 'sum', datatype: 'BF16', shape: [-1, 4] }] },
      /output "sum" is BF16, which ONNX Runtime cannot pass to or from Node: add a Cast to FP32/,
    ],
    [
      'a reshape that cannot be undone',
      { outputs: [{ ...fp32('sum', [-1, 4]), engineShape: [-1, -1] }] },
      /output "sum" is reshaped to a shape with another number of free dimensions/,
    ],
  ])('a configuration with %s is refused with what to do', async (_, overrides, message) => {
    const loading = onnxruntimeEngine.load(specFor(arithmeticModel(4), overrides));
    await expect(loading).rejects.toThrow(/^model "subject" version 3 does not fit its configuration: /);
    await expect(loading).rejects.toThrow(message);
  });

  test('a file that is no model, or does not exist, is refused with the engine’s own message', async () => {
    const garbage = onnxruntimeEngine.load(specFor(Uint8Array.of(1, 2, 3)));
    await expect(garbage).rejects.toThrow(/"subject" version 3 could not be loaded: .*Protobuf parsing failed/);
    const missing = onnxruntimeEngine.load({ ...specFor(arithmeticModel(4)), path: '/nowhere/model.onnx' });
    await expect(missing).rejects.toThrow(/could not be loaded: .*doesn't exist/);
  });

  test('a BF16 tensor in the file alone is named as the reason', async () => {
    const model = identityModel([{ datatype: 'BF16', shape: ['batch', 2] }]);
    await expect(onnxruntimeEngine.load(specFor(model))).rejects.toThrow(/such as BF16: add a Cast/);
  });

  test('a model with a fixed batch dimension cannot be batched', async () => {
    const model = identityModel([{ datatype: 'FP32', shape: [1, 4] }]);
    const tensors = { inputs: [fp32('input0', [-1, 4])], outputs: [fp32('output0', [-1, 4])] };
    await expect(onnxruntimeEngine.load(specFor(model, tensors))).rejects.toThrow(
      /input "input0" has a fixed first dimension of 1.*export the model with a free batch dimension, or set max_batch/,
    );
  });
});

describe('running', () => {
  const inputs = [
    { index: 0, shape: [1, 4], data: floats(1, 2, 3, 4) },
    { index: 1, shape: [1, 4], data: floats(5, 6, 7, 8) },
  ];

  test('outputs of known size are in the one region that was lent for them', async () => {
    const session = await onnxruntimeEngine.load(specFor(arithmeticModel(4)));
    const { lent, memory } = usedMemory();
    const result = await session.run({ inputs, outputs: [1, 0], memory });
    expect(lent.length).toBe(1);
    expect(result.outputs.map(({ data }) => data.buffer)).toEqual([lent[0]?.bytes.buffer, lent[0]?.bytes.buffer]);
    expect([...(result.outputs[0]?.data ?? [])]).toEqual([...floats(5, 12, 21, 32)]);
    expect([...(result.outputs[1]?.data ?? [])]).toEqual([...floats(6, 8, 10, 12)]);
    await session.unload();
  });

  test('unaligned inputs are read correctly', async () => {
    const session = await onnxruntimeEngine.load(specFor(arithmeticModel(4)));
    const shifted = new Uint8Array(17).subarray(1);
    shifted.set(floats(1, 2, 3, 4));
    const { memory } = usedMemory();
    const crooked = [{ index: 0, shape: [1, 4], data: shifted }, ...inputs.slice(1)];
    const result = await session.run({ inputs: crooked, outputs: [0], memory });
    expect([...(result.outputs[0]?.data ?? [])]).toEqual([...floats(6, 8, 10, 12)]);
    await session.unload();
  });

  test('a run that fails leaves the session usable', async () => {
    const session = await onnxruntimeEngine.load(specFor(arithmeticModel(4)));
    const run = session.run({ inputs: inputs.slice(0, 1), outputs: [0], memory: usedMemory().memory });
    await expect(run).rejects.toMatchObject({ code: 'inference-failed' });
    await session.run({ inputs, outputs: [0], memory: usedMemory().memory });
    await session.unload();
  });

  test('memory that cannot be allocated fails the batch, not the worker', async () => {
    const session = await onnxruntimeEngine.load(specFor(arithmeticModel(4)));
    const lend = (): never => {
      throw new RangeError('Array buffer allocation failed');
    };
    const run = session.run({ inputs, outputs: [0], memory: new GuardedOutputMemory(lend, randomBitsFrom(1)) });
    await expect(run).rejects.toMatchObject({ code: 'inference-failed', message: 'Array buffer allocation failed' });
    await session.unload();
  });

  test('a reshape is undone in the outputs', async () => {
    const spec = specFor(identityModel([{ datatype: 'FP32', shape: ['batch', 2, 2] }]), {
      inputs: [{ ...fp32('input0', [-1, 4]), engineShape: [-1, 2, 2] }],
      outputs: [{ ...fp32('output0', [-1, 4, 1]), engineShape: [-1, 2, 2] }],
    });
    const session = await onnxruntimeEngine.load(spec);
    const { memory } = usedMemory();
    const input = { index: 0, shape: [2, 4], data: floats(1, 2, 3, 4, 5, 6, 7, 8) };
    const result = await session.run({ inputs: [input], outputs: [0], memory });
    expect(result.outputs[0]?.shape).toEqual([2, 4, 1]);
    expect([...(result.outputs[0]?.data ?? [])]).toEqual([...input.data]);
    await session.unload();
  });

  test.each<Datatype>(['FP16', 'UINT64', 'BOOL'])(
    'a batch of %s without rows has an answer without rows',
    async (datatype) => {
      const spec = specFor(identityModel([{ datatype, shape: ['batch', 3] }]), {
        inputs: [{ name: 'input0', datatype, shape: [-1, 3] }],
        outputs: [{ name: 'output0', datatype, shape: [-1, 3] }],
      });
      const session = await onnxruntimeEngine.load(spec);
      const { memory } = usedMemory();
      const empty = { index: 0, shape: [0, 3], data: new Uint8Array(0) };
      const result = await session.run({ inputs: [empty], outputs: [0], memory });
      expect(result.outputs).toMatchObject([{ index: 0, shape: [0, 3] }]);
      await session.unload();
    },
  );
});

test('the warm-up run does not divide by integer zero, which would crash the process', async () => {
  const value = (name: string) => ({ name, datatype: 'INT32' as const, shape: ['batch', 4] });
  const model = onnxModelFrom({
    inputs: [value('left'), value('right')],
    outputs: [value('quotient')],
    nodes: [{ operator: 'Div', inputs: ['left', 'right'], outputs: ['quotient'] }],
  });
  const int32 = (name: string): TensorSpec => ({ name, datatype: 'INT32', shape: [-1, 4] });
  const session = await onnxruntimeEngine.load(
    specFor(model, { inputs: [int32('left'), int32('right')], outputs: [int32('quotient')] }),
  );
  await session.unload();
});
