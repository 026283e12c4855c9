/** Inputs and outputs that no request or answer can carry, and what to change in the export. */
import { datatypeFromElementType, elementTypeName, type OnnxTensor } from '@millrace/onnx';

export type TensorRole = 'input' | 'output';

/** Why the engine cannot take this input or return this output; undefined when it can. */
export function carryingProblem(tensor: OnnxTensor, role: TensorRole): string | undefined {
  const what = `${role} ${JSON.stringify(tensor.name)}`;
  if (tensor.kind !== 'tensor') return `${what} ${kindProblems[tensor.kind]}; ${kindAdvice[tensor.kind][role]}`;
  if (datatypeFromElementType(tensor.elementType) !== undefined) return undefined;
  const end = role === 'input' ? 'behind it' : 'before it';
  return (
    `${what} has the element type ${elementTypeName(tensor.elementType)}, which ONNX Runtime in Node cannot carry; ` +
    `declare it as another type, for instance FLOAT, and put a Cast ${end}`
  );
}

type OtherKind = Exclude<OnnxTensor['kind'], 'tensor'>;

const kindProblems: Readonly<Record<OtherKind, string>> = {
  sequence: 'is a sequence, and only tensors can be served',
  map: 'is a map, and only tensors can be served',
  optional: 'is of an optional type, and only tensors can be served',
  'sparse-tensor': 'is a sparse tensor, and only dense tensors can be served',
  unknown: 'has no type in the file',
};

const zipMapAdvice =
  'for a classifier of skl2onnx or onnxmltools, convert it with the option "zipmap": False (options={id(model): {"zipmap": False}})';

const kindAdvice: Readonly<Record<OtherKind, Readonly<Record<TensorRole, string>>>> = {
  sequence: {
    input: 'take its tensors as inputs of their own, or as one tensor, and export the model again',
    output: `${zipMapAdvice}; elsewhere return its tensors as outputs of their own, or joined by ConcatFromSequence`,
  },
  map: {
    input: 'take the values as a tensor, encoded before the model (instead of a DictVectorizer inside it)',
    output: `${zipMapAdvice}; elsewhere return its keys and values as two tensors`,
  },
  optional: {
    input: 'take the tensor itself; an input that callers may leave out is a tensor with an initializer of its name',
    output: 'return the tensor itself, and whether it is there as another one (OptionalHasElement, OptionalGetElement)',
  },
  'sparse-tensor': {
    input: 'take a dense tensor and export the model again',
    output: 'return a dense tensor and export the model again',
  },
  unknown: {
    input: 'export the model with a type for each input',
    output: 'run onnx.shape_inference.infer_shapes on the model, or export it with a type for each output',
  },
};
