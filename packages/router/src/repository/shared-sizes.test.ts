import type { OnnxGraph, OnnxTensor } from '@millrace/onnx';
import { expect, test } from 'vitest';
import { sharedSizesOf } from './shared-sizes.ts';

const tensor = (name: string, shape: OnnxTensor['shape']): OnnxTensor => ({
  name,
  kind: 'tensor',
  elementType: 1,
  shape,
});
const graph = (inputs: readonly OnnxTensor[], defaultedInputs: readonly OnnxTensor[] = []): OnnxGraph =>
  ({ inputs, defaultedInputs }) as unknown as OnnxGraph;
const spec = (name: string, shape: readonly number[]) => ({ name, datatype: 'FP32' as const, shape });

test('axes that a graph gives one name share a size, also those of inputs with a default', () => {
  const specs = [spec('b', [-1, -1]), spec('a', [-1, 2]), spec('c', [-1])];
  const found = sharedSizesOf(
    graph([tensor('a', ['N', 2]), tensor('b', ['N', 'K']), tensor('unknown', ['K'])], [tensor('c', ['K'])]),
    specs,
  );
  expect(found).toEqual([
    {
      name: 'N',
      axes: [
        { input: 1, axis: 0 },
        { input: 0, axis: 0 },
      ],
    },
    {
      name: 'K',
      axes: [
        { input: 0, axis: 1 },
        { input: 2, axis: 0 },
      ],
    },
  ]);
});

test('sizes without a name, inputs of unknown rank and reshaped inputs share nothing', () => {
  const specs = [spec('a', [-1]), spec('b', [-1]), { ...spec('c', [-1, 1]), engineShape: [-1] }];
  const tensors = [tensor('a', ['']), tensor('b', ['']), tensor('c', ['N'])];
  expect(sharedSizesOf(graph([...tensors, tensor('d', undefined)]), [...specs, spec('d', [])])).toEqual([]);
});
