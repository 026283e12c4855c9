import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatchTensor, elementsOf, encodeBytesElements, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../engine.ts';
import { type OnnxConstant, onnxModelFrom, usedMemory } from '../testing/index.ts';
import { onnxruntimeEngine } from './onnxruntime-engine.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-source-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
const value = (name: string, shape: readonly (number | string)[]) => ({ name, datatype: 'FP32' as const, shape });
const fp32 = (name: string, shape: readonly number[]): TensorSpec => ({ name, datatype: 'FP32', shape });

function specOf(model: Uint8Array, rest: Pick<LoadSpec, 'inputs' | 'outputs'> & Partial<LoadSpec>): LoadSpec {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, model);
  return {
    model: 1,
    name: 'subject',
    version: '1',
    engine: 'onnxruntime',
    path,
    isBatched: true,
    threads: 1,
    isSpinning: false,
    ...rest,
  };
}

async function numbers(session: Session, inputs: readonly BatchTensor[], output = 0): Promise<number[]> {
  const { memory } = usedMemory();
  const { outputs } = await session.run({ inputs, outputs: [output], memory });
  memory.take(outputs);
  return [...elementsOf({ datatype: 'FP32', data: outputs[0]?.data as Uint8Array })] as number[];
}

describe('an input with an initializer', () => {
  /** `y = x + bias`, where the file has a value for bias. */
  const withBias = (bias: OnnxConstant): Uint8Array =>
    onnxModelFrom({
      inputs: [value('x', ['batch', 4]), value('bias', [1, 4])],
      outputs: [value('y', ['batch', 4])],
      nodes: [{ operator: 'Add', inputs: ['x', 'bias'], outputs: ['y'] }],
      constants: [bias],
    });
  const inModel: OnnxConstant = { name: 'bias', datatype: 'FP32', shape: [1, 4], data: floats(10, 20, 30, 40) };
  const tensors = {
    inputs: [{ ...fp32('bias', [1, 4]), isOptional: true, hasDefault: true }, fp32('x', [-1, 4])],
    outputs: [fp32('y', [-1, 4])],
  };
  const x = { index: 1, shape: [2, 4], data: floats(1, 2, 3, 4, 5, 6, 7, 8) };
  const bias = { index: 0, shape: [1, 4], data: floats(100, 200, 300, 400) };

  test('has the value of the file where a batch leaves it out, and the value of the batch where it gives one', async () => {
    const session = await onnxruntimeEngine.load(specOf(withBias(inModel), tensors));
    for (let round = 0; round < 2; round++) {
      expect(await numbers(session, [x])).toEqual([11, 22, 33, 44, 15, 26, 37, 48]);
      expect(await numbers(session, [bias, x])).toEqual([101, 202, 303, 404, 105, 206, 307, 408]);
    }
    await session.unload();
  });

  test('has the value of an external file, which may have other weights too', async () => {
    writeFileSync(join(folder, 'bias.bin'), floats(10, 20, 30, 40));
    writeFileSync(join(folder, 'scale.bin'), floats(1, 1, 1, 2));
    const beside = (name: string): OnnxConstant => ({
      name,
      datatype: 'FP32',
      shape: [1, 4],
      file: `${name}.bin`,
      fileBytes: 16,
    });
    const model = onnxModelFrom({
      inputs: [value('x', ['batch', 4]), value('bias', [1, 4])],
      outputs: [value('y', ['batch', 4])],
      nodes: [
        { operator: 'Mul', inputs: ['x', 'scale'], outputs: ['scaled'] },
        { operator: 'Add', inputs: ['scaled', 'bias'], outputs: ['y'] },
      ],
      constants: [beside('bias'), beside('scale')],
    });
    const session = await onnxruntimeEngine.load(specOf(model, tensors));
    expect(await numbers(session, [x])).toEqual([11, 22, 33, 48, 15, 26, 37, 56]);
    expect(await numbers(session, [bias, x])).toEqual([101, 202, 303, 408, 105, 206, 307, 416]);
    await session.unload();
  });

  test('may be a string', async () => {
    const text = (name: string) => ({ name, datatype: 'BYTES' as const, shape: [1] });
    const model = onnxModelFrom({
      inputs: [text('given'), text('other')],
      outputs: [{ name: 'isEqual', datatype: 'BOOL', shape: [1] }],
      nodes: [{ operator: 'Equal', inputs: ['given', 'other'], outputs: ['isEqual'] }],
      constants: [{ ...text('other'), texts: ['yes'] }],
      operatorSet: 19,
    });
    const session = await onnxruntimeEngine.load(
      specOf(model, {
        isBatched: false,
        inputs: [text('given'), { ...text('other'), isOptional: true, hasDefault: true }],
        outputs: [{ name: 'isEqual', datatype: 'BOOL', shape: [1] }],
      }),
    );
    const isEqual = async (...texts: string[]) => {
      const inputs = texts.map((one, index) => ({ index, shape: [1], data: encodeBytesElements([one]) }));
      return (await session.run({ inputs, outputs: [0], memory: usedMemory().memory })).outputs[0]?.data[0];
    };
    expect([await isEqual('yes'), await isEqual('no'), await isEqual('no', 'no')]).toEqual([1, 0, 1]);
    await session.unload();
  });

  test('of another shape than the model\u2019s is refused by the engine, and the next batch runs', async () => {
    const session = await onnxruntimeEngine.load(specOf(withBias(inModel), tensors));
    const wide = { index: 0, shape: [1, 5], data: floats(1, 2, 3, 4, 5) };
    await expect(numbers(session, [wide, x])).rejects.toMatchObject({ code: 'inference-failed' });
    expect(await numbers(session, [x])).toEqual([11, 22, 33, 44, 15, 26, 37, 48]);
    await session.unload();
  });

  test('that the configuration requires has the value of the batch', async () => {
    const inputs = [{ ...fp32('bias', [1, 4]), hasDefault: true }, fp32('x', [-1, 4])];
    const session = await onnxruntimeEngine.load(specOf(withBias(inModel), { inputs, outputs: tensors.outputs }));
    expect(await numbers(session, [bias, x])).toEqual([101, 202, 303, 404, 105, 206, 307, 408]);
    await session.unload();
  });

  test('that the configuration does not list keeps the value of the file', async () => {
    const { inputs, outputs } = tensors;
    const session = await onnxruntimeEngine.load(specOf(withBias(inModel), { inputs: inputs.slice(1), outputs }));
    expect(await numbers(session, [{ ...x, index: 0 }])).toEqual([11, 22, 33, 44, 15, 26, 37, 48]);
    await session.unload();
  });

  test('that the configuration declares optional, but the model has no value for, is required', async () => {
    const model = onnxModelFrom({
      inputs: [value('x', ['batch', 4]), value('bias', [1, 4])],
      outputs: [value('y', ['batch', 4])],
      nodes: [{ operator: 'Add', inputs: ['x', 'bias'], outputs: ['y'] }],
    });
    const session = await onnxruntimeEngine.load(specOf(model, tensors));
    await expect(numbers(session, [x])).rejects.toThrow(/input 'bias' is missing/);
    expect(await numbers(session, [bias, x])).toEqual([101, 202, 303, 404, 105, 206, 307, 408]);
    await session.unload();
  });
});

describe('a classifier that ends in a ZipMap', () => {
  const classifier = onnxModelFrom({
    inputs: [value('x', ['rows', 3])],
    outputs: [value('doubled', ['rows', 3])],
    mapOutputs: ['probabilities'],
    nodes: [
      { operator: 'Add', inputs: ['x', 'x'], outputs: ['doubled'] },
      { operator: 'Softmax', inputs: ['doubled'], outputs: ['scores'], attributes: { axis: 1 } },
      {
        operator: 'ZipMap',
        domain: 'ai.onnx.ml',
        inputs: ['scores'],
        outputs: ['probabilities'],
        attributes: { classlabels_int64s: [7, 8, 9] },
      },
    ],
  });
  const tensors = {
    inputs: [fp32('x', [-1, 3])],
    outputs: [fp32('doubled', [-1, 3]), fp32('probabilities', [-1, 3])],
  };
  const x = { index: 0, shape: [2, 3], data: floats(0, 0, 0, 0, 0, 50) };

  test('returns its scores as a tensor when the maps are removed', async () => {
    const session = await onnxruntimeEngine.load(specOf(classifier, { ...tensors, cutsZipMaps: true }));
    const third = Math.fround(1 / 3);
    const scores = await numbers(session, [x], 1);
    for (const [index, expected] of [third, third, third, 0, 0, 1].entries())
      expect(scores[index]).toBeCloseTo(expected, 6);
    await session.unload();
  });

  test('is refused when they are not removed', async () => {
    const loading = onnxruntimeEngine.load(specOf(classifier, tensors));
    await expect(loading).rejects.toThrow(/output "probabilities" is not a tensor/);
  });
});
