/** The two ways to run a model give the same answers and the same errors, bit for bit. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type BatchTensor,
  type Datatype,
  datatypes,
  HeapRegion,
  type LoadSpec,
  type TensorSpec,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Session } from '../../engine.ts';
import { GuardedOutputMemory } from '../../guarded-output-memory.ts';
import { randomBitsFrom } from '../../random-bits.ts';
import {
  arithmeticModel,
  gatherModel,
  identityModel,
  passingModel,
  positionsModel,
  usedMemory,
  zerosModel,
} from '../../testing/index.ts';
import { OnnxruntimeSession } from '../onnxruntime-session.ts';
import { mustOpenNativeGraph, mustOpenSession } from '../open-session.ts';
import { type EngineInterface, takeEngineInterface } from './engine-interface.ts';
import { keptInputBytesMax, keptShapesMax } from './kept-input.ts';
import { NativeSession } from './native-session.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-native-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function mustTakeEngine(): EngineInterface {
  const engine = takeEngineInterface();
  if (engine === undefined) throw new Error('the C interface of the engine is not available here');
  return engine;
}

function specOf(model: Uint8Array, tensors: Pick<LoadSpec, 'inputs' | 'outputs'>, isBatched = false): LoadSpec {
  const path = join(folder, 'model.onnx');
  writeFileSync(path, model);
  const names = { model: 1, name: 'subject', version: '1', engine: 'onnxruntime' as const };
  return { ...names, path, ...tensors, isBatched, threads: 1, isSpinning: false };
}

interface BothWays {
  readonly native: NativeSession;
  readonly binding: OnnxruntimeSession;
}

async function bothWays(spec: LoadSpec): Promise<BothWays> {
  return {
    native: new NativeSession(mustOpenNativeGraph(mustTakeEngine(), spec, spec.path), spec),
    binding: new OnnxruntimeSession(await mustOpenSession(spec, spec.path), spec, {
      defaults: new Map(),
      hasInvalidText: false,
    }),
  };
}

async function outcomeOf(session: Session, inputs: readonly BatchTensor[], outputs: readonly number[]) {
  const { memory } = usedMemory();
  try {
    const result = await session.run({ inputs, outputs, memory });
    memory.take(result.outputs);
    return result.outputs.map(({ index, shape, data }) => ({ index, shape: [...shape], data: [...data] }));
  } catch (error) {
    return error instanceof Error ? { message: error.message } : error;
  }
}

async function expectSame(
  { native, binding }: BothWays,
  inputs: readonly BatchTensor[],
  outputs: readonly number[],
): Promise<unknown> {
  const expected = await outcomeOf(binding, inputs, outputs);
  expect(await outcomeOf(native, inputs, outputs)).toEqual(expected);
  return expected;
}

async function unload({ native, binding }: BothWays): Promise<void> {
  await native.unload();
  await binding.unload();
}

const fp32 = (name: string, shape: readonly number[]): TensorSpec => ({ name, datatype: 'FP32', shape });
const floats = (count: number, seed = 1): Uint8Array =>
  new Uint8Array(Float32Array.from({ length: count }, (_, at) => Math.sin(at + seed)).buffer);

const numeric = (Object.keys(datatypes) as Datatype[]).filter((type) => type !== 'BYTES' && type !== 'BF16');

test.each(numeric)('values of %s, also none and a scalar', async (datatype) => {
  const bytes = datatypes[datatype].bytes ?? 0;
  const dataOf = (count: number): Uint8Array => Uint8Array.from({ length: count * bytes }, (_, at) => (at * 7) % 2);
  const rows = await bothWays(
    specOf(identityModel([{ datatype, shape: ['batch', 3] }]), {
      inputs: [{ name: 'input0', datatype, shape: [-1, 3] }],
      outputs: [{ name: 'output0', datatype, shape: [-1, 3] }],
    }),
  );
  for (const count of [1, 2, 0, 5]) {
    await expectSame(rows, [{ index: 0, shape: [count, 3], data: dataOf(3 * count) }], [0]);
  }
  await unload(rows);
  const scalar = await bothWays(
    specOf(identityModel([{ datatype, shape: [] }]), {
      inputs: [{ name: 'input0', datatype, shape: [] }],
      outputs: [{ name: 'output0', datatype, shape: [] }],
    }),
  );
  await expectSame(scalar, [{ index: 0, shape: [], data: dataOf(1) }], [0]);
  await unload(scalar);
});

/** Collects all garbage. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

describe('rows of numbers', () => {
  const tensors = {
    inputs: [fp32('left', [-1, 4]), fp32('right', [-1, 4])],
    outputs: [fp32('sum', [-1, 4]), fp32('product', [-1, 4])],
  };
  const batch = (rows: number, seed = 1): BatchTensor[] => [
    { index: 0, shape: [rows, 4], data: floats(rows * 4, seed) },
    { index: 1, shape: [rows, 4], data: floats(rows * 4, seed + 100) },
  ];

  test('of more shapes than are kept, small and large, some outputs or all in any order', async () => {
    const ways = await bothWays(specOf(arithmeticModel(4), tensors, true));
    const largest = Math.ceil((2 * keptInputBytesMax) / 16);
    const sizes = [...Array(2 * keptShapesMax).keys(), keptInputBytesMax / 16, keptInputBytesMax / 16 + 1, largest];
    for (const rows of sizes) {
      for (const outputs of [[0, 1], [1, 0], [1]]) await expectSame(ways, batch(rows, rows), outputs);
      await expectSame(ways, batch(1, rows), [0]);
    }
    await unload(ways);
  });

  test('that are not aligned in memory', async () => {
    const ways = await bothWays(specOf(arithmeticModel(4), tensors, true));
    for (const rows of [2, keptInputBytesMax / 8]) {
      const crooked = batch(rows).map(({ index, shape, data }) => {
        const shifted = new Uint8Array(data.length + 1).subarray(1);
        shifted.set(data);
        return { index, shape, data: shifted };
      });
      await expectSame(ways, crooked, [0, 1]);
    }
    await unload(ways);
  });

  test('that were copied for the run are kept until it has ended, whatever is collected meanwhile', async () => {
    const ways = await bothWays(specOf(arithmeticModel(4), tensors, true));
    const rows = keptInputBytesMax;
    const collect = collector();
    const crooked = batch(rows).map(({ index, shape, data }) => {
      const shifted = new Uint8Array(data.length + 1).subarray(1);
      shifted.set(data);
      return { index, shape, data: shifted };
    });
    const reused: Uint8Array[] = [];
    const lend = (bytes: number): HeapRegion => {
      collect();
      // Takes the memory that was free, and changes it.
      for (let count = 0; count < 64; count++) reused.push(new Uint8Array(rows * 16).fill(0xff));
      return new HeapRegion(new Uint8Array(bytes));
    };
    const memory = new GuardedOutputMemory(lend, randomBitsFrom(1));
    const { outputs } = ways.native.runNow({ inputs: crooked, outputs: [0], memory });
    expect([{ ...outputs[0], data: [...(outputs[0]?.data ?? [])] }]).toEqual(
      await outcomeOf(ways.binding, crooked, [0]),
    );
    expect(reused).toHaveLength(64);
    await unload(ways);
  });

  test('a missing input, wrong bytes, a number that no tensor has and no output fail, and the next run is right', async () => {
    const ways = await bothWays(specOf(arithmeticModel(4), tensors, true));
    const [left, right] = batch(2) as [BatchTensor, BatchTensor];
    for (const [inputs, outputs] of [
      [[left], [0]],
      [[left, { ...right, data: right.data.subarray(4) }], [0]],
      [[left, { ...right, index: 7 }], [0]],
      [[left, right], [7]],
      [[left, right], []],
    ] as [BatchTensor[], number[]][]) {
      const native = await outcomeOf(ways.native, inputs, outputs);
      expect(native).toHaveProperty('message');
      const isMissing = inputs.length === 1;
      if (!isMissing) expect(native).toEqual(await outcomeOf(ways.binding, inputs, outputs));
      await expectSame(ways, batch(3), [0, 1]);
    }
    await unload(ways);
  });
});

test('outputs that are inputs or constants, again and again, never show what another caller left', async () => {
  const names = ['input', 'constant', 'doubled'];
  const spec = specOf(passingModel(4), {
    inputs: [fp32('input', [-1, 4])],
    outputs: names.map((name) => fp32(name, name === 'constant' ? [1, 4] : [-1, 4])),
  });
  const ways = await bothWays(spec);
  for (let round = 0; round < 4; round++) {
    const inputs = [{ index: 0, shape: [2, 4], data: floats(8, round) }];
    for (const outputs of [[0], [1], [2], [0, 1, 2]]) {
      expect(await expectSame(ways, inputs, outputs)).not.toHaveProperty('message');
    }
  }
  await unload(ways);
});

test('outputs whose size is known only after the run, none among them', async () => {
  const spec = specOf(positionsModel(), {
    inputs: [fp32('flags', [-1])],
    outputs: [{ name: 'positions', datatype: 'INT64', shape: [1, -1] }],
  });
  const ways = await bothWays(spec);
  for (const flags of [[1, 0, 1], [0, 0], [1], []]) {
    const data = new Uint8Array(Float32Array.from(flags).buffer);
    await expectSame(ways, [{ index: 0, shape: [flags.length], data }], [0]);
  }
  await unload(ways);
});

test('outputs of another shape than was declared', async () => {
  const spec = specOf(positionsModel(), {
    inputs: [fp32('flags', [-1])],
    outputs: [{ name: 'positions', datatype: 'INT64', shape: [1, 2] }],
  });
  const ways = await bothWays(spec);
  for (const flags of [
    [1, 1],
    [1, 0, 1, 1],
    [0, 1],
  ]) {
    const data = new Uint8Array(Float32Array.from(flags).buffer);
    await expectSame(ways, [{ index: 0, shape: [flags.length], data }], [0]);
  }
  await unload(ways);
});

test('an output without elements whose sizes no message can hold fails, and the next run is right', async () => {
  const spec = specOf(zerosModel(), {
    inputs: [{ name: 'shape', datatype: 'INT64', shape: [2] }],
    outputs: [fp32('zeros', [-1, -1])],
  });
  const ways = await bothWays(spec);
  const shapes = [
    [0n, 2n ** 53n],
    [2n ** 60n, 0n],
    [2n, 3n],
  ];
  for (const shape of shapes) {
    const inputs = [{ index: 0, shape: [2], data: new Uint8Array(BigInt64Array.from(shape).buffer) }];
    const native = await outcomeOf(ways.native, inputs, [0]);
    if (shape.includes(0n))
      expect(native).toEqual({ message: expect.stringMatching(/2\^53 or more cannot be passed on/) });
    else expect(native).toEqual(await outcomeOf(ways.binding, inputs, [0]));
    // The engine's binding refuses some of these shapes itself.
    expect(await outcomeOf(ways.binding, inputs, [0])).toHaveProperty(shape.includes(0n) ? 'message' : '0.shape');
  }
  await unload(ways);
});

test('a run that fails in the middle has the message of the engine, and the next is right', async () => {
  const spec = specOf(gatherModel(), {
    inputs: [fp32('items', [-1]), { name: 'index', datatype: 'INT64', shape: [1] }],
    outputs: [fp32('item', [1])],
  });
  const ways = await bothWays(spec);
  for (const index of [1n, 9n, 0n]) {
    const inputs = [
      { index: 0, shape: [3], data: floats(3) },
      { index: 1, shape: [1], data: new Uint8Array(BigInt64Array.of(index).buffer) },
    ];
    const outcome = await expectSame(ways, inputs, [0]);
    if (index === 9n) expect(outcome).toHaveProperty('message');
  }
  await unload(ways);
});

test('what the graph takes and gives is described alike', async () => {
  const spec = specOf(arithmeticModel(4), { inputs: [], outputs: [] });
  const session = await mustOpenSession(spec, spec.path);
  const graph = mustOpenNativeGraph(mustTakeEngine(), spec, spec.path);
  expect(graph.inputMetadata).toEqual(session.inputMetadata);
  expect(graph.outputMetadata).toEqual(session.outputMetadata);
  graph.release();
  await session.release();
});

test('a file that is no model fails with the same message', async () => {
  const spec = specOf(Uint8Array.of(1, 2, 3), { inputs: [], outputs: [] });
  const failure = await mustOpenSession(spec, spec.path).catch((error: Error) => error.message);
  expect(() => mustOpenNativeGraph(mustTakeEngine(), spec, spec.path)).toThrow(String(failure));
});
