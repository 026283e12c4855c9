/** Converts between the tensors of a batch and those of ONNX Runtime. */
import {
  type BatchTensor,
  datatypes,
  elementCount,
  engineShapeFrom,
  formatShape,
  InferenceError,
  type LoadSpec,
  type TensorSpec,
} from '@millrace/protocol';
import { elementsFrom, elementTypes } from './element-types.ts';
import { Tensor } from './onnxruntime.ts';
import { textsFrom } from './text-tensor.ts';

/** Where Float16Array exists, `Tensor` requires it, but the native side then takes the tensor as empty. */
const hasFloat16Array = 'Float16Array' in globalThis;

/** Whether ONNX Runtime can write such an output to given memory. */
export function canBeWrittenInPlace({ datatype }: TensorSpec): boolean {
  return datatypes[datatype].bytes !== undefined && !(datatype === 'FP16' && hasFloat16Array);
}

export function mustFindTensor(spec: LoadSpec, role: 'input' | 'output', index: number): TensorSpec {
  const found = role === 'input' ? spec.inputs[index] : spec.outputs[index];
  if (found !== undefined) return found;
  throw new InferenceError('inference-failed', `model "${spec.name}" has no ${role} number ${index}`);
}

export function onnxTensorFrom(spec: TensorSpec, { shape, data }: BatchTensor): Tensor {
  const count = elementCount(shape);
  const engineShape = engineShapeFrom(spec, shape);
  if (spec.datatype === 'BYTES') return new Tensor('string', textsFrom(data, count, spec.name), engineShape);
  mustFillShape(spec, shape, data);
  return numericTensor(spec, data, engineShape);
}

/** Throws unless these are all bytes of an input of numbers with this shape. */
export function mustFillShape(spec: TensorSpec, shape: readonly number[], data: Uint8Array): void {
  const count = elementCount(shape);
  if (count * (datatypes[spec.datatype].bytes ?? 0) === data.length) return;
  throw new InferenceError(
    'inference-failed',
    `input "${spec.name}" of shape [${shape}] has ${data.length} bytes, not the ${count} ${spec.datatype} elements of its shape`,
  );
}

/** Throws where the shape of an output cannot be passed on as it is: without elements a size may be that large. */
export function mustBeExact(name: string, shape: readonly number[]): void {
  if (shape.every(Number.isSafeInteger)) return;
  throw new InferenceError(
    'inference-failed',
    `output "${name}" has a shape of ${formatShape(shape)}: a size of 2^53 or more cannot be passed on`,
  );
}

/** A tensor that shares these bytes where they are aligned; otherwise a copy. */
export function numericTensor(spec: TensorSpec, bytes: Uint8Array, dims: readonly number[]): Tensor {
  const type = elementTypes[spec.datatype];
  const elementBytes = datatypes[spec.datatype].bytes;
  if (type?.array === undefined || elementBytes === undefined) {
    throw new InferenceError('unsupported', `${spec.datatype} tensors cannot be passed to ONNX Runtime`);
  }
  const data = elementsFrom(bytes, type.array, elementBytes);
  if (spec.datatype === 'FP16' && hasFloat16Array) {
    return { type: type.onnxName, data, dims, location: 'cpu' } as unknown as Tensor;
  }
  return new Tensor(type.onnxName as 'float32', data as Float32Array, dims);
}
