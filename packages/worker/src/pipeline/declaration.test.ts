import type { LoadSpec } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { declarationOf, mismatchOf } from './declaration.ts';
import { definePipeline, type PipelineDefinition } from './pipeline-api.ts';

const run = () => ({});
const spec = (inputs: LoadSpec['inputs']): LoadSpec => ({
  model: 1,
  name: 'p',
  version: '1',
  engine: 'pipeline',
  path: '/p/1/pipeline.ts',
  inputs,
  outputs: [],
  isBatched: false,
  threads: 1,
  isSpinning: false,
});

describe('a declaration', () => {
  test('becomes the tensors that clients see, with a batch dimension where maxBatchSize is set', () => {
    const inputs = {
      x: { datatype: 'FP32', shape: [-1] },
      y: { datatype: 'BYTES', shape: [1], optional: true },
    } as const;
    expect(declarationOf(definePipeline({ inputs, maxBatchSize: 4, run }))).toEqual({
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [-1, -1] },
        { name: 'y', datatype: 'BYTES', shape: [-1, 1], isOptional: true },
      ],
      outputs: undefined,
      maxBatchSize: 4,
      decoupled: false,
    });
  });

  test('is decoupled if it says so, and otherwise by the form of run', () => {
    const generator = async function* () {
      yield {};
    };
    expect(declarationOf(definePipeline({ run: generator })).decoupled).toBe(true);
    expect(declarationOf(definePipeline({ run: generator, decoupled: false })).decoupled).toBe(false);
    expect(declarationOf(definePipeline({ run, decoupled: true })).decoupled).toBe(true);
    const spec = { inputs: [], outputs: [] } as unknown as LoadSpec;
    const several = declarationOf(definePipeline({ run: generator }));
    expect(mismatchOf(several, spec)).toMatch(/gives several answers .* decoupled: true \} in its configuration/);
    expect(mismatchOf(several, { ...spec, isDecoupled: true })).toBeUndefined();
    expect(mismatchOf(declarationOf(definePipeline({ run })), { ...spec, isDecoupled: true })).toMatch(
      /gives one answer/,
    );
  });

  test.each<[Partial<PipelineDefinition>, RegExp]>([
    [{ decoupled: 'yes' as never }, /decoupled is yes; it must be true or false/],
    [{ decoupled: true, maxBatchSize: 2 }, /runs each request alone; remove maxBatchSize/],
    [{ inputs: {} }, /inputs is empty; declare at least one tensor/],
    [{ inputs: { x: undefined as never } }, /inputs\.x\.datatype is undefined/],
    [{ outputs: { x: { datatype: 'FP31' as 'FP32', shape: [1] } } }, /outputs\.x\.datatype is "FP31"/],
    [
      { outputs: { x: { datatype: 'FP32', shape: [0] } } },
      /outputs\.x\.shape must be a list of sizes, each at least 1/,
    ],
    [{ outputs: { x: { datatype: 'FP32', shape: [] } } }, /outputs\.x\.shape must be/],
    [{ maxBatchSize: -1 }, /maxBatchSize is -1/],
  ])('%j is refused', (definition, message) => {
    expect(() => declarationOf({ run, ...definition } as PipelineDefinition)).toThrow(message);
  });

  test('that changed since it was read is detected when the module is loaded', () => {
    const inputs = { x: { datatype: 'FP32', shape: [2] } } as const;
    const declaration = declarationOf(definePipeline({ inputs, run }));
    expect(mismatchOf(declaration, spec([{ name: 'x', datatype: 'FP32', shape: [2] }]))).toBeUndefined();
    expect(mismatchOf(declaration, spec([{ name: 'x', datatype: 'FP64', shape: [2] }]))).toMatch(/make them equal/);
  });
});
