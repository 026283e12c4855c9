import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BatchTensor, elementsOf, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../engine.ts';
import { onnxModelFrom, usedMemory, type WrittenGraph } from '../testing/index.ts';
import { InferenceSession } from './onnxruntime.ts';
import { onnxruntimeEngine } from './onnxruntime-engine.ts';
import { OnnxruntimeSession } from './onnxruntime-session.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-unwritten-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const floats = (...values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
const value = (name: string, shape: readonly (number | string)[] = ['batch', 4]) => ({
  name,
  datatype: 'FP32' as const,
  shape,
});
const flag = { name: 'flag', datatype: 'BOOL' as const, shape: [] };
const fp32 = (name: string, shape: readonly number[] = [-1, 4]): TensorSpec => ({ name, datatype: 'FP32', shape });
const constant = { name: 'constant', datatype: 'FP32' as const, shape: [1, 4], data: floats(5, 6, 7, 8) };
const doubled = { operator: 'Add', inputs: ['x', 'x'], outputs: ['doubled'] };

function loaded(graph: WrittenGraph, rest: Partial<LoadSpec>): Promise<Session> {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, onnxModelFrom(graph));
  return onnxruntimeEngine.load(specOf(path, { outputs: graph.outputs.map(({ name }) => fp32(name)), ...rest }));
}

function specOf(path: string, rest: Partial<LoadSpec> & Pick<LoadSpec, 'outputs'>): LoadSpec {
  return {
    model: 1,
    name: 'subject',
    version: '1',
    engine: 'onnxruntime',
    path,
    inputs: [fp32('x')],
    isBatched: true,
    threads: 1,
    isSpinning: false,
    ...rest,
  };
}

/** Runs in memory that another caller has used, and returns how often memory was lent: twice when the run was repeated. */
async function answers(session: Session, inputs: readonly BatchTensor[], outputs: readonly number[]) {
  const { memory, lent } = usedMemory();
  const result = await session.run({ inputs, outputs, memory });
  memory.take(result.outputs);
  const tensors = result.outputs.map(({ shape, data }) => ({
    shape,
    values: [...elementsOf({ datatype: 'FP32', data })],
  }));
  return { tensors, lentRegions: lent.length };
}

const x = (...values: number[]): BatchTensor => ({ index: 0, shape: [values.length / 4, 4], data: floats(...values) });
const wanted = (shape: readonly number[], ...values: number[]) => ({ shape, values });

describe('an output that ONNX Runtime does not write into given memory is answered correctly', () => {
  test('a graph input', async () => {
    const session = await loaded(
      { inputs: [value('x')], outputs: [value('x'), value('doubled')], nodes: [doubled] },
      {},
    );
    for (const first of [1, 30]) {
      const { tensors, lentRegions } = await answers(session, [x(first, 2, 3, 4)], [0, 1]);
      expect(tensors).toEqual([wanted([1, 4], first, 2, 3, 4), wanted([1, 4], 2 * first, 4, 6, 8)]);
      expect(lentRegions).toBe(1);
    }
    await session.unload();
  });

  test.each([
    ['an initializer', ['constant'], []],
    ['folded to a constant', ['folded'], [{ operator: 'Identity', inputs: ['constant'], outputs: ['folded'] }]],
  ])('%s', async (_, names, nodes) => {
    const session = await loaded(
      {
        inputs: [value('x')],
        outputs: [value('doubled'), ...names.map((name) => value(name, [1, 4]))],
        nodes: [doubled, ...nodes],
        constants: [constant],
      },
      { isBatched: false, outputs: [fp32('doubled'), ...names.map((name) => fp32(name, [1, 4]))] },
    );
    for (const first of [1, 30]) {
      const { tensors } = await answers(session, [x(first, 2, 3, 4)], [1, 0]);
      expect(tensors).toEqual([wanted([1, 4], 5, 6, 7, 8), wanted([1, 4], 2 * first, 4, 6, 8)]);
    }
    await session.unload();
  });

  test('passed through by a branch, on some data only', async () => {
    const branch = (nodes: WrittenGraph['nodes'], output: string): WrittenGraph => ({
      inputs: [],
      outputs: [value(output)],
      nodes,
    });
    const session = await loaded(
      {
        inputs: [value('x'), flag],
        outputs: [value('y')],
        nodes: [
          {
            operator: 'If',
            inputs: ['flag'],
            outputs: ['y'],
            attributes: {
              then_branch: branch([{ operator: 'Identity', inputs: ['x'], outputs: ['passed'] }], 'passed'),
              else_branch: branch([doubled], 'doubled'),
            },
          },
        ],
      },
      { isBatched: false, inputs: [fp32('x', [1, 4]), flag as TensorSpec], outputs: [fp32('y', [1, 4])] },
    );
    for (const isPassed of [0, 1, 1, 0]) {
      const given = [x(1, 2, 3, 4), { index: 1, shape: [], data: Uint8Array.of(isPassed) }];
      const { tensors } = await answers(session, given, [0]);
      expect(tensors).toEqual([isPassed === 1 ? wanted([1, 4], 1, 2, 3, 4) : wanted([1, 4], 2, 4, 6, 8)]);
    }
    await session.unload();
  });

  test('left unwritten for any other reason, on some data only: the run is repeated once, then the output is copied', async () => {
    const path = join(folder, 'doubled.onnx');
    writeFileSync(path, onnxModelFrom({ inputs: [value('x')], outputs: [value('doubled')], nodes: [doubled] }));
    const real = await InferenceSession.create(path);
    let isSilent = false;
    const runs: string[] = [];
    const silent = {
      inputNames: real.inputNames,
      run(feeds: InferenceSession.FeedsType, fetches: string[]) {
        const isInPlace = !Array.isArray(fetches);
        runs.push(isInPlace ? 'in place' : 'copied');
        return isInPlace && isSilent ? Promise.resolve({}) : real.run(feeds, fetches);
      },
    } as unknown as InferenceSession;
    const session = new OnnxruntimeSession(silent, specOf(path, { outputs: [fp32('doubled')] }), {
      defaults: new Map(),
      hasInvalidText: false,
    });
    for (const isSilentNow of [false, true, true, false]) {
      isSilent = isSilentNow;
      const { tensors } = await answers(session, [x(1, 2, 3, 4)], [0]);
      expect(tensors).toEqual([wanted([1, 4], 2, 4, 6, 8)]);
    }
    expect(runs).toEqual(['in place', 'in place', 'copied', 'copied', 'copied']);
    await real.release();
  });
});

describe('an output whose shape is not the declared one has its real shape', () => {
  /** Each row of four becomes two rows of two, which the file does not declare. */
  const split: WrittenGraph = {
    inputs: [value('x')],
    outputs: [value('doubled'), value('y', ['rows', 2])],
    nodes: [doubled, { operator: 'Reshape', inputs: ['x', 'shape'], outputs: ['y'] }],
    constants: [
      { name: 'shape', datatype: 'INT64', shape: [2], data: new Uint8Array(BigInt64Array.of(-1n, 2n).buffer) },
    ],
  };

  test('the load succeeds, and from the first run on the output is copied', async () => {
    const session = await loaded(split, { outputs: [fp32('doubled'), fp32('y', [-1, 2])] });
    const { tensors, lentRegions } = await answers(session, [x(1, 2, 3, 4)], [0, 1]);
    expect(tensors).toEqual([wanted([1, 4], 2, 4, 6, 8), wanted([2, 2], 1, 2, 3, 4)]);
    expect(lentRegions).toBe(1);
    await session.unload();
  });

  test('a shape that only some data changes is found when it comes', async () => {
    // Two rows of two, unless the data changes the shape, which the zeros of the warm-up do not.
    const change: TensorSpec = { name: 'change', datatype: 'INT64', shape: [2] };
    const twos = new Uint8Array(BigInt64Array.of(2n, 2n).buffer);
    const session = await loaded(
      {
        inputs: [value('x'), change],
        outputs: [value('y', ['a', 'b'])],
        nodes: [
          { operator: 'Add', inputs: ['change', 'twos'], outputs: ['shape'] },
          { operator: 'Reshape', inputs: ['x', 'shape'], outputs: ['y'] },
        ],
        constants: [{ name: 'twos', datatype: 'INT64', shape: [2], data: twos }],
      },
      { isBatched: false, inputs: [fp32('x', [1, 4]), change], outputs: [fp32('y', [2, 2])] },
    );
    const lentRegions: number[] = [];
    for (const [rows, columns] of [[0n, 0n] as const, [2n, -1n] as const, [-1n, 2n] as const, [0n, 0n] as const]) {
      const data = new Uint8Array(BigInt64Array.of(rows, columns).buffer);
      const answer = await answers(session, [x(1, 2, 3, 4), { index: 1, shape: [2], data }], [0]);
      expect(answer.tensors).toEqual([wanted([2 + Number(rows), 2 + Number(columns)], 1, 2, 3, 4)]);
      lentRegions.push(answer.lentRegions);
    }
    expect(lentRegions).toEqual([1, 2, 1, 1]);
    await session.unload();
  });

  test('also where the configuration reshapes it', async () => {
    const session = await loaded(split, {
      outputs: [fp32('doubled'), { ...fp32('y', [-1, 1, 2]), engineShape: [-1, 2] }],
    });
    const { tensors } = await answers(session, [x(1, 2, 3, 4, 5, 6, 7, 8)], [1]);
    expect(tensors).toEqual([wanted([4, 1, 2], 1, 2, 3, 4, 5, 6, 7, 8)]);
    await session.unload();
  });
});

test('a request that fails for another reason is run once', async () => {
  const session = await loaded(
    {
      inputs: [value('x'), { name: 'index', datatype: 'INT64', shape: [1] }],
      outputs: [value('y', [1, 4])],
      nodes: [{ operator: 'Gather', inputs: ['x', 'index'], outputs: ['y'], attributes: { axis: 0 } }],
    },
    {
      isBatched: false,
      inputs: [fp32('x'), { name: 'index', datatype: 'INT64', shape: [1] }],
      outputs: [fp32('y', [1, 4])],
    },
  );
  const { memory, lent } = usedMemory();
  const outside = { index: 1, shape: [1], data: new Uint8Array(BigInt64Array.of(9n).buffer) };
  await expect(session.run({ inputs: [x(1, 2, 3, 4), outside], outputs: [0], memory })).rejects.toThrow(/idx=9/);
  expect(lent.length).toBe(1);
  const { lentRegions } = await answers(session, [x(1, 2, 3, 4), { ...outside, data: new Uint8Array(8) }], [0]);
  expect(lentRegions).toBe(1);
  await session.unload();
});
