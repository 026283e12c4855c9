/** Models as exporters leave them, each with one property that a configuration would otherwise have to explain. */
import { field, modelBytes, tensorInfo } from '@millrace/onnx/testing';
import type { Datatype } from '@millrace/protocol';
import { gatherModel, onnxModelFrom, positionsModel } from '@millrace/worker/testing';

type Shape = readonly (number | string)[];
const value = (name: string, shape: Shape, datatype: Datatype = 'FP32') => ({ name, datatype, shape });
const floats = (name: string, shape: readonly number[], ...values: readonly number[]) => ({
  name,
  datatype: 'FP32' as const,
  shape,
  data: new Uint8Array(Float32Array.from(values).buffer),
});
const longs = (name: string, shape: readonly number[], ...values: readonly number[]) => ({
  name,
  datatype: 'INT64' as const,
  shape,
  data: new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer),
});

/** `y = x + x`. */
const doubled = (shape: Shape, stated: Shape = shape) =>
  onnxModelFrom({
    inputs: [value('x', shape)],
    outputs: [value('y', stated)],
    nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
  });

const labels = (...texts: readonly string[]) =>
  field(5, [field(1, 'classlabels_strings'), ...texts.map((text) => field(9, text)), field(20, 8)]);
const floatInfo = field(1, [field(1, 1)]);
const mapInfo = field(5, [field(1, 8), field(2, floatInfo)]);

/** `y` is `x`, and `probabilities` a map of it for every row. */
const zipMap = modelBytes({
  inputs: [tensorInfo('x', 1, ['batch', 3])],
  outputs: [
    tensorInfo('y', 1, ['batch', 3]),
    Buffer.concat([field(1, 'probabilities'), field(2, [field(4, [field(1, mapInfo)])])]),
  ],
  graphFields: [
    field(1, [
      field(1, 'y'),
      field(2, 'probabilities'),
      field(4, 'ZipMap'),
      labels('cat', 'dog', 'eel'),
      field(7, 'ai.onnx.ml'),
    ]),
  ],
  modelFields: [field(8, [field(1, 'ai.onnx.ml'), field(2, 1)])],
});

const threshold = onnxModelFrom({
  inputs: [value('x', ['batch', 2]), value('threshold', [])],
  outputs: [value('y', ['batch', 2])],
  nodes: [{ operator: 'Sub', inputs: ['x', 'threshold'], outputs: ['y'] }],
  constants: [floats('threshold', [], 10)],
});

export const plainModels: Readonly<Record<string, Uint8Array>> = {
  one_value_a_row: doubled(['n']),
  single_value: doubled([]),
  free_sizes: doubled(['batch', 'length']),
  stated_wrongly: doubled(['n'], [1]),
  any_rank: modelBytes({ inputs: [tensorInfo('x', 1, undefined)], outputs: [tensorInfo('y', 1, undefined)] }),
  threshold,
  texts: onnxModelFrom({
    inputs: [value('x', ['n'], 'BYTES')],
    outputs: [value('y', ['n'], 'BYTES')],
    nodes: [{ operator: 'Identity', inputs: ['x'], outputs: ['y'] }],
  }),
  half_floats: onnxModelFrom({
    inputs: [value('x', ['n'], 'FP16')],
    outputs: [value('y', ['n'], 'FP16')],
    nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
  }),
  no_inputs: onnxModelFrom({
    inputs: [],
    outputs: [value('y', [2])],
    nodes: [{ operator: 'Add', inputs: ['one', 'one'], outputs: ['y'] }],
    constants: [floats('one', [2], 1, 2)],
  }),
  constant_output: onnxModelFrom({
    inputs: [value('x', ['batch', 2])],
    outputs: [value('y', ['batch', 2]), value('classes', [3])],
    nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
    constants: [floats('classes', [3], 7, 8, 9)],
  }),
  nonzero: positionsModel(),
  gather: gatherModel(),
  flatten: onnxModelFrom({
    inputs: [value('x', ['batch', 2])],
    outputs: [value('y', ['all'])],
    nodes: [{ operator: 'Reshape', inputs: ['x', 'flat'], outputs: ['y'] }],
    constants: [longs('flat', [1], -1)],
  }),
  pooled: onnxModelFrom({
    inputs: [value('x', ['batch', 2])],
    outputs: [value('y', ['one', 2])],
    nodes: [{ operator: 'ReduceMax', inputs: ['x'], outputs: ['y'], attributes: { axes: [0], keepdims: 1 } }],
  }),
  unequal: onnxModelFrom({
    inputs: [value('a', ['n', 2]), value('b', ['m', 2])],
    outputs: [value('y', ['k', 2])],
    nodes: [{ operator: 'Concat', inputs: ['a', 'b'], outputs: ['y'], attributes: { axis: 0 } }],
  }),
  nms: onnxModelFrom({
    inputs: [value('boxes', [1, 'boxes', 4]), value('scores', [1, 1, 'boxes'])],
    outputs: [value('selected', ['selected', 3], 'INT64')],
    nodes: [
      {
        operator: 'NonMaxSuppression',
        inputs: ['boxes', 'scores', 'most', 'overlap', 'least'],
        outputs: ['selected'],
      },
    ],
    constants: [longs('most', [1], 10), floats('overlap', [1], 0.5), floats('least', [1], 0.1)],
  }),
  zip_map: zipMap,
};

/** Models that cannot be served, and what is said of each. */
export const refusedModels: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
  bfloat16: [
    modelBytes({ inputs: [tensorInfo('x', 16, ['n'])], outputs: [tensorInfo('y', 16, ['n'])] }),
    /input "x" has the element type BFLOAT16.*Cast/,
  ],
  int4: [
    modelBytes({ inputs: [tensorInfo('x', 22, ['n'])], outputs: [tensorInfo('y', 22, ['n'])] }),
    /input "x" has the element type INT4.*Cast/,
  ],
  sequence: [
    modelBytes({
      graphFields: [field(1, [field(1, 'y'), field(2, 'parts'), field(4, 'SplitToSequence')])],
      outputs: [Buffer.concat([field(1, 'parts'), field(2, [field(4, [field(1, floatInfo)])])])],
    }),
    /output "parts" is a sequence.*return its tensors as outputs of their own/,
  ],
};

/** `threshold` with a configuration that lists the input with a default: as one that may be left out, or may not. */
export function listedThreshold(isOptional: boolean): { readonly model: Uint8Array; readonly config: string } {
  return {
    model: threshold,
    config: `max_batch_size: 8
      input { name: "x" data_type: TYPE_FP32 dims: [ 2 ] }
      input { name: "threshold" data_type: TYPE_FP32 dims: [ 1 ] reshape { } optional: ${isOptional} }
      output { name: "y" data_type: TYPE_FP32 dims: [ 2 ] }`,
  };
}
