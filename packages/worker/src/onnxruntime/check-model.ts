/** Checks a model file against its configuration when it is loaded: every message says which of the two to change. */
import { hasTranslatableShapes, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import type { InferenceSession } from 'onnxruntime-node';
import { datatypeNameFrom, elementTypes } from './element-types.ts';

type Metadata = readonly InferenceSession.ValueMetadata[];
type Role = 'input' | 'output';

/** What the configuration requests that this engine cannot do; checked before the file is opened. */
export function unsupportedProblems(spec: LoadSpec): string[] {
  const problems: string[] = [];
  for (const [role, tensors] of [['input', spec.inputs] as const, ['output', spec.outputs] as const]) {
    for (const tensor of tensors) {
      if (elementTypes[tensor.datatype] === undefined) {
        problems.push(
          `${role} "${tensor.name}" is ${tensor.datatype}, which ONNX Runtime cannot pass to or from Node: ` +
            'add a Cast to FP32 or FP16 at that end of the model and export it again',
        );
      }
      if (!hasTranslatableShapes(tensor)) {
        problems.push(
          `${role} "${tensor.name}" is reshaped to a shape with another number of free dimensions: make the numbers equal`,
        );
      }
    }
  }
  return problems;
}

export function modelProblems(spec: LoadSpec, inputs: Metadata, outputs: Metadata): string[] {
  const problems = [
    ...tensorProblems('input', spec.inputs, inputs, spec.isBatched),
    ...tensorProblems('output', spec.outputs, outputs, spec.isBatched),
  ];
  for (const input of inputs) {
    if (spec.inputs.some(({ name }) => name === input.name)) continue;
    const type = input.isTensor ? datatypeNameFrom(input.type) : 'not a tensor';
    problems.push(`the model needs input "${input.name}" (${type}), which the configuration does not declare: add it`);
  }
  return problems;
}

function tensorProblems(role: Role, specs: readonly TensorSpec[], metadata: Metadata, isBatched: boolean): string[] {
  const problems: string[] = [];
  for (const spec of specs) {
    const found = metadata.find(({ name }) => name === spec.name);
    if (found === undefined) {
      const names = metadata.map(({ name }) => `"${name}"`).join(', ');
      problems.push(`the model has no ${role} "${spec.name}"; its ${role}s are ${names}: correct the configuration`);
    } else if (!found.isTensor) {
      problems.push(
        `${role} "${spec.name}" is not a tensor, and this server passes tensors only: export the model without it`,
      );
    } else {
      problems.push(...typeAndShapeProblems(role, spec, found, isBatched));
    }
  }
  return problems;
}

function typeAndShapeProblems(
  role: Role,
  spec: TensorSpec,
  found: InferenceSession.TensorValueMetadata,
  isBatched: boolean,
): string[] {
  const type = datatypeNameFrom(found.type);
  if (type !== spec.datatype) {
    return [
      `${role} "${spec.name}" is ${type} in the model and ${spec.datatype} in the configuration: make it ${type}`,
    ];
  }
  // ONNX Runtime reports an unknown rank as no dimensions, like a scalar; and it may know more than the file declares.
  if (spec.isAnyRank === true || found.shape.length === 0) return [];
  const shape = spec.engineShape ?? spec.shape;
  const isSameRank = shape.length === found.shape.length;
  const isSame = isSameRank && shape.every((dimension, axis) => canBe(dimension, found.shape[axis]));
  if (!isSame) {
    return [
      `${role} "${spec.name}" has shape ${shapeText(found.shape)} in the model and ${shapeText(shape)} in the ` +
        'configuration: make them agree, or declare a reshape',
    ];
  }
  // An input with a default has no rows of the batch: a request that gives it runs alone.
  if (isBatched && spec.hasDefault !== true && typeof found.shape[0] === 'number') {
    return [
      `${role} "${spec.name}" has a fixed first dimension of ${found.shape[0]}, so rows of several requests cannot ` +
        'share a run: export the model with a free batch dimension, or set max_batch_size to 0',
    ];
  }
  return [];
}

function canBe(declared: number, actual: number | string | undefined): boolean {
  return declared === -1 || typeof actual === 'string' || declared === actual;
}

function shapeText(shape: readonly (number | string)[]): string {
  return `[${shape.map((dimension) => (typeof dimension === 'string' ? dimension || '-1' : dimension)).join(', ')}]`;
}
