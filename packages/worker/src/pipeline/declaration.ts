/** What a pipeline declares: its inputs, its outputs, whether its requests share runs. */
import { isDatatype, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import type { PipelineDefinition, TensorDeclarations } from './pipeline-api.ts';

/** The declaration as the router gets it. */
export interface PipelineDeclaration {
  /** Undefined: they are in the configuration. */
  readonly inputs: readonly TensorSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly maxBatchSize: number | undefined;
  /** It gives any number of answers to a request. */
  readonly decoupled: boolean;
}

/** Throws with what is wrong: types are stripped, not checked, when a pipeline is loaded. */
export function declarationOf(definition: PipelineDefinition): PipelineDeclaration {
  const { inputs, outputs, maxBatchSize, decoupled = isAsyncGenerator(definition.run) } = definition;
  if (typeof decoupled !== 'boolean') throw new Error(`decoupled is ${String(decoupled)}; it must be true or false`);
  if (maxBatchSize !== undefined && !(Number.isInteger(maxBatchSize) && maxBatchSize >= 0)) {
    throw new Error(`maxBatchSize is ${String(maxBatchSize)}; it must be a whole number, at least 0`);
  }
  const isBatched = maxBatchSize !== undefined && maxBatchSize > 0;
  if (isBatched && decoupled) {
    throw new Error('a decoupled pipeline runs each request alone; remove maxBatchSize');
  }
  return {
    inputs: inputs && specsOf(inputs, 'inputs', isBatched),
    outputs: outputs && specsOf(outputs, 'outputs', isBatched),
    maxBatchSize,
    decoupled,
  };
}

/** Compares the loaded module with what was declared when the model was read. Returns the first difference; undefined: none. */
export function mismatchOf(declaration: PipelineDeclaration, spec: LoadSpec): string | undefined {
  for (const side of ['inputs', 'outputs'] as const) {
    const declared = declaration[side];
    if (declared === undefined) continue;
    const [found, expected] = [declared, spec[side]].map((specs) => JSON.stringify(specs.map(essenceOf)));
    if (found !== expected) return `it declares the ${side} ${found}, but is served with ${expected}; make them equal`;
  }
  if (declaration.decoupled === (spec.isDecoupled === true)) return undefined;
  return declaration.decoupled
    ? 'it gives several answers to a request; write model_transaction_policy { decoupled: true } in its configuration'
    : 'it gives one answer to a request; remove model_transaction_policy { decoupled: true } from its configuration';
}

/** `async *run` gives several answers, unless the module says otherwise. */
function isAsyncGenerator(run: unknown): boolean {
  return Object.prototype.toString.call(run) === '[object AsyncGeneratorFunction]';
}

function essenceOf({ name, datatype, shape, isOptional }: TensorSpec) {
  return { name, datatype, shape, isOptional: isOptional === true };
}

function specsOf(declarations: TensorDeclarations, side: string, isBatched: boolean): readonly TensorSpec[] {
  const given: unknown = declarations;
  if (typeof given !== 'object' || given === null) throw new Error(`${side} must be an object`);
  const specs = Object.entries(declarations).map(([name, declared]): TensorSpec => {
    const where = `${side}.${name}`;
    const { datatype, shape, optional } = declared ?? {};
    if (typeof datatype !== 'string' || !isDatatype(datatype)) {
      throw new Error(`${where}.datatype is ${JSON.stringify(datatype)}; write for instance 'FP32' or 'BYTES'`);
    }
    const isShape = Array.isArray(shape) && shape.length > 0 && shape.every(isSize);
    if (!isShape) throw new Error(`${where}.shape must be a list of sizes, each at least 1, or -1 for a free size`);
    const spec = { name, datatype, shape: isBatched ? [-1, ...shape] : [...shape] };
    return optional === true && side === 'inputs' ? { ...spec, isOptional: true } : spec;
  });
  if (specs.length === 0) throw new Error(`${side} is empty; declare at least one tensor`);
  return specs;
}

function isSize(size: unknown): boolean {
  return Number.isInteger(size) && ((size as number) >= 1 || size === -1);
}
