/** The models the tests run, each named after the one thing it does. */
import type { Datatype } from '@millrace/protocol';
import { onnxModelFrom, type WrittenGraph } from './onnx-graph.ts';

/** `output0 = input0`, one pair a datatype. */
export function identityModel(
  tensors: readonly { readonly datatype: Datatype; readonly shape: readonly (number | string)[] }[],
): Uint8Array {
  return onnxModelFrom({
    inputs: tensors.map(({ datatype, shape }, index) => ({ name: `input${index}`, datatype, shape })),
    outputs: tensors.map(({ datatype, shape }, index) => ({ name: `output${index}`, datatype, shape })),
    nodes: tensors.map((_, index) => ({
      operator: 'Identity',
      inputs: [`input${index}`],
      outputs: [`output${index}`],
    })),
  });
}

/** `sum = left + right` and `product = left x right` on rows of FP32. */
export function arithmeticModel(columns: number): Uint8Array {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', columns] });
  return onnxModelFrom({
    inputs: [value('left'), value('right')],
    outputs: [value('sum'), value('product')],
    nodes: [
      { operator: 'Add', inputs: ['left', 'right'], outputs: ['sum'] },
      { operator: 'Mul', inputs: ['left', 'right'], outputs: ['product'] },
    ],
  });
}

/** `output` is `input` concatenated with itself. */
export function doublingModel(columns: number): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'input', datatype: 'FP32', shape: ['batch', columns] }],
    outputs: [{ name: 'output', datatype: 'FP32', shape: ['batch', 2 * columns] }],
    nodes: [{ operator: 'Concat', inputs: ['input', 'input'], outputs: ['output'], attributes: { axis: 1 } }],
  });
}

/** Outputs that need no computing: `input` itself, and a `constant` of ones. Beside them `doubled = input + input`. */
export function passingModel(columns: number): Uint8Array {
  const value = (name: string, rows: string | number) => ({ name, datatype: 'FP32' as const, shape: [rows, columns] });
  const ones = new Uint8Array(new Float32Array(columns).fill(1).buffer);
  return onnxModelFrom({
    inputs: [value('input', 'rows')],
    outputs: [value('input', 'rows'), value('constant', 1), value('doubled', 'rows')],
    nodes: [{ operator: 'Add', inputs: ['input', 'input'], outputs: ['doubled'] }],
    constants: [{ name: 'constant', datatype: 'FP32', shape: [1, columns], data: ones }],
  });
}

/** Returns the positions where `flags` is not zero: an output whose size is known only after the run. */
export function positionsModel(): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'flags', datatype: 'FP32', shape: ['length'] }],
    outputs: [{ name: 'positions', datatype: 'INT64', shape: [1, 'found'] }],
    nodes: [{ operator: 'NonZero', inputs: ['flags'], outputs: ['positions'] }],
  });
}

/** Returns `items[index]`; an index out of range fails in the middle of a run. */
export function gatherModel(): Uint8Array {
  return onnxModelFrom({
    inputs: [
      { name: 'items', datatype: 'FP32', shape: ['length'] },
      { name: 'index', datatype: 'INT64', shape: [1] },
    ],
    outputs: [{ name: 'item', datatype: 'FP32', shape: [1] }],
    nodes: [{ operator: 'Gather', inputs: ['items', 'index'], outputs: ['item'], attributes: { axis: 0 } }],
  });
}

/** Returns FP32 zeros of the shape that is given. */
export function zerosModel(): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'shape', datatype: 'INT64', shape: [2] }],
    outputs: [{ name: 'zeros', datatype: 'FP32', shape: ['rows', 'columns'] }],
    nodes: [{ operator: 'ConstantOfShape', inputs: ['shape'], outputs: ['zeros'] }],
  });
}

/** Counts to `iterations` one loop turn at a time: a run that takes as long as the caller says. */
export function countingModel(): Uint8Array {
  const body: WrittenGraph = {
    inputs: [
      { name: 'turn', datatype: 'INT64', shape: [] },
      { name: 'again', datatype: 'BOOL', shape: [] },
      { name: 'count', datatype: 'INT64', shape: [1] },
    ],
    outputs: [
      { name: 'again_out', datatype: 'BOOL', shape: [] },
      { name: 'count_out', datatype: 'INT64', shape: [1] },
    ],
    nodes: [
      { operator: 'Identity', inputs: ['again'], outputs: ['again_out'] },
      { operator: 'Add', inputs: ['count', 'one'], outputs: ['count_out'] },
    ],
  };
  return onnxModelFrom({
    inputs: [{ name: 'iterations', datatype: 'INT64', shape: [1] }],
    outputs: [{ name: 'counted', datatype: 'INT64', shape: [1] }],
    constants: [
      { name: 'one', datatype: 'INT64', shape: [1], data: Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0) },
      { name: 'zero', datatype: 'INT64', shape: [1], data: new Uint8Array(8) },
      { name: 'yes', datatype: 'BOOL', shape: [], data: Uint8Array.of(1) },
    ],
    nodes: [{ operator: 'Loop', inputs: ['iterations', 'yes', 'zero'], outputs: ['counted'], attributes: { body } }],
  });
}

/** `output = left OPERATOR right` on rows of two FP32 numbers: versions of one model with different answers. */
export function binaryModel(operator: 'Add' | 'Sub' | 'Mul'): Uint8Array {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 2] });
  return onnxModelFrom({
    inputs: [value('left'), value('right')],
    outputs: [value('output')],
    nodes: [{ operator, inputs: ['left', 'right'], outputs: ['output'] }],
  });
}
