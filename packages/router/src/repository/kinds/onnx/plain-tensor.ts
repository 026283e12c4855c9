/** Inputs and outputs that no configuration declares: served in the graph's own shapes, also where Triton's differ. */
import { datatypeFromElementType, type OnnxGraph, type OnnxTensor } from '@millrace/onnx';
import { type Datatype, datatypes, type TensorSpec } from '@millrace/protocol';
import { carryingProblem } from '../../carrying-problem.ts';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfigInput } from '../../config-text/model-config-schema.ts';
import { freeShape, type WrittenTensor } from '../../tensor-config.ts';

/**
 * Inputs with a default that are listed without a configuration. A graph with more was exported with all of its weights
 * as inputs, and the list would be of no use to clients.
 */
const defaultedInputsMax = 16;

/** The IR version since which a run may be given another value for an initializer that is also an input. */
const overridableIrVersion = 4;

export interface PlainTensor<Entry extends WrittenTensor = WrittenTensor> {
  /** For those who ask for the completed configuration. */
  readonly entry: Entry;
  readonly spec: TensorSpec;
}

/** The tensor as the graph has it; `carryingProblem` must have found nothing. */
export function plainTensorFrom(tensor: OnnxTensor, isBatched: boolean): PlainTensor {
  const { name } = tensor;
  const datatype = datatypeFromElementType(tensor.elementType) as Datatype;
  const shape = freeShape(tensor);
  const head = { name, data_type: datatypes[datatype].configName };
  if (shape === undefined) {
    return { entry: { ...head, dims: [-1] }, spec: { name, datatype, shape: [-1], isAnyRank: true } };
  }
  const dims = isBatched ? shape.slice(1) : shape;
  // A ModelConfig has no tensor without dimensions, so that a single value is written there as a list of one.
  const entry = dims.length === 0 ? { ...head, dims: [1], reshape: { shape: [] } } : { ...head, dims };
  return { entry, spec: { name, datatype, shape } };
}

/** The inputs that the graph has a value for: a request may leave them out, or give another value for its own run. */
export function plainDefaultedInputs(graph: OnnxGraph, findings: Findings): readonly PlainTensor<ModelConfigInput>[] {
  const tensors = overridableInputs(graph);
  const { length } = tensors;
  if (length > defaultedInputsMax) {
    findings.warning(
      'input',
      `the graph has ${length} inputs with default values, more than ${defaultedInputsMax}, and none of them is listed; ` +
        'write all inputs in config.pbtxt, those to override with optional: true',
    );
    return [];
  }
  return tensors.map((tensor) => {
    const { entry, spec } = plainTensorFrom(tensor, false);
    return { entry: { ...entry, optional: true }, spec: { ...spec, isOptional: true, hasDefault: true } };
  });
}

/** Older files list every initializer among the inputs, and their values are final. */
export function overridableInputs({ irVersion, defaultedInputs }: OnnxGraph): readonly OnnxTensor[] {
  if (irVersion < overridableIrVersion) return [];
  return defaultedInputs.filter((tensor) => carryingProblem(tensor, 'input') === undefined);
}
