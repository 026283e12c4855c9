import type { OnnxTensor } from '@millrace/onnx';
import { expect, test } from 'vitest';
import { carryingProblem } from './carrying-problem.ts';

const tensor = (elementType: number): OnnxTensor => ({ name: 'x', kind: 'tensor', elementType, shape: ['n'] });

test.each([
  [14, 'COMPLEX64'],
  [15, 'COMPLEX128'],
  [16, 'BFLOAT16'],
  [17, 'FLOAT8E4M3FN'],
  [18, 'FLOAT8E4M3FNUZ'],
  [19, 'FLOAT8E5M2'],
  [20, 'FLOAT8E5M2FNUZ'],
  [21, 'UINT4'],
  [22, 'INT4'],
  [23, 'FLOAT4E2M1'],
  [24, 'FLOAT8E8M0'],
  [99, 'number 99'],
])('element type %i is refused by its name, with the Cast that helps', (elementType, name) => {
  const problem = `put "x" has the element type ${name}, which ONNX Runtime in Node cannot carry; declare it as another type, for instance FLOAT, and put a Cast`;
  expect(carryingProblem(tensor(elementType), 'input')).toBe(`in${problem} behind it`);
  expect(carryingProblem(tensor(elementType), 'output')).toBe(`out${problem} before it`);
});

test('every type that the protocol has and the engine takes is carried', () => {
  for (const elementType of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]) {
    expect(carryingProblem(tensor(elementType), 'input')).toBeUndefined();
  }
});

test.each([
  ['sequence', 'input', /^input "x" is a sequence.*take its tensors as inputs of their own/],
  ['sequence', 'output', /^output "x" is a sequence.*"zipmap": False.*ConcatFromSequence/],
  ['map', 'input', /^input "x" is a map.*instead of a DictVectorizer/],
  ['map', 'output', /^output "x" is a map.*"zipmap": False.*keys and values as two tensors/],
  ['optional', 'input', /^input "x" is of an optional type.*tensor with an initializer of its name/],
  ['optional', 'output', /^output "x" is of an optional type.*OptionalHasElement/],
  ['sparse-tensor', 'output', /^output "x" is a sparse tensor.*return a dense tensor/],
  ['unknown', 'output', /^output "x" has no type in the file; run onnx\.shape_inference\.infer_shapes/],
] as const)('a %s as %s is refused with what to change in the export', (kind, role, message) => {
  expect(carryingProblem({ ...tensor(0), kind }, role)).toMatch(message);
});
