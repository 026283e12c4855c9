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
  test('becomes what clients see, with rows where they are asked for', () => {
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
    });
  });

  test.each<[Partial<PipelineDefinition>, RegExp]>([
    [{ inputs: {} }, /inputs declares none/],
    [{ inputs: { x: undefined as never } }, /inputs\.x\.datatype is undefined/],
    [{ outputs: { x: { datatype: 'FP31' as 'FP32', shape: [1] } } }, /outputs\.x\.datatype is "FP31"/],
    [{ outputs: { x: { datatype: 'FP32', shape: [0] } } }, /outputs\.x\.shape must be a list of sizes from 1/],
    [{ outputs: { x: { datatype: 'FP32', shape: [] } } }, /outputs\.x\.shape must be/],
    [{ maxBatchSize: -1 }, /maxBatchSize is -1/],
  ])('%j is refused', (definition, message) => {
    expect(() => declarationOf({ run, ...definition } as PipelineDefinition)).toThrow(message);
  });

  test('that changed since it was read is found when the module is loaded', () => {
    const inputs = { x: { datatype: 'FP32', shape: [2] } } as const;
    const declaration = declarationOf(definePipeline({ inputs, run }));
    expect(mismatchOf(declaration, spec([{ name: 'x', datatype: 'FP32', shape: [2] }]))).toBeUndefined();
    expect(mismatchOf(declaration, spec([{ name: 'x', datatype: 'FP64', shape: [2] }]))).toMatch(/make them equal/);
  });
});
