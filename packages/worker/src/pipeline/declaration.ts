/** What a pipeline says of itself: its inputs, its outputs, whether its requests share runs. */
import { isDatatype, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import type { PipelineDefinition, TensorDeclarations } from './pipeline-api.ts';

/** As the router is told. */
export interface PipelineDeclaration {
  /** Undefined: they stand in the configuration. */
  readonly inputs: readonly TensorSpec[] | undefined;
  readonly outputs: readonly TensorSpec[] | undefined;
  readonly maxBatchSize: number | undefined;
  /** It answers a request any number of times. */
  readonly decoupled: boolean;
}

/** Throws with what is wrong, for TypeScript is checked by nobody on the way here. */
export function declarationOf(definition: PipelineDefinition): PipelineDeclaration {
  const { inputs, outputs, maxBatchSize, decoupled = isAsyncGenerator(definition.run) } = definition;
  if (typeof decoupled !== 'boolean') throw new Error(`decoupled is ${String(decoupled)}; it must be true or false`);
  if (maxBatchSize !== undefined && !(Number.isInteger(maxBatchSize) && maxBatchSize >= 0)) {
    throw new Error(`maxBatchSize is ${String(maxBatchSize)}; it must be a whole number from 0`);
  }
  const isBatched = maxBatchSize !== undefined && maxBatchSize > 0;
  if (isBatched && decoupled) {
    throw new Error('a decoupled pipeline answers each request by itself; remove maxBatchSize');
  }
  return {
    inputs: inputs && specsOf(inputs, 'inputs', isBatched),
    outputs: outputs && specsOf(outputs, 'outputs', isBatched),
    maxBatchSize,
    decoupled,
  };
}

/** What was declared when the model was found must still be what is loaded. Returns what is not, or nothing. */
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

/** `async *run`: what it gives are several answers, unless the module says otherwise. */
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
    if (!isShape) throw new Error(`${where}.shape must be a list of sizes from 1, or -1 for a free one`);
    const spec = { name, datatype, shape: isBatched ? [-1, ...shape] : [...shape] };
    return optional === true && side === 'inputs' ? { ...spec, isOptional: true } : spec;
  });
  if (specs.length === 0) throw new Error(`${side} declares none`);
  return specs;
}

function isSize(size: unknown): boolean {
  return Number.isInteger(size) && ((size as number) >= 1 || size === -1);
}
