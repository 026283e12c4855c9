/** Reads the model parameters for padding: which inputs are padded, with what value, and which output sizes follow them. */
import { type Datatype, datatypes, elementsOf, fp16From, type TensorSpec } from '@millrace/protocol';
import type { Cut } from '../../model/batch-shaping.ts';
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import { suggestionFor } from '../config-text/suggestion.ts';

export const padPrefix = 'millrace.pad.';
export const unpadPrefix = 'millrace.unpad.';
const padRatioParameter = 'millrace.pad_ratio_max';
export const padRatioMaxDefault = 2;
export const padRatioRange = [1.01, 1_000_000] as const;

export interface Padding {
  /** The element to pad with, by position of the input. */
  readonly fills: ReadonlyMap<number, Uint8Array>;
  /** By position of the output. */
  readonly cuts: ReadonlyMap<number, readonly Cut[]>;
  readonly ratioMax: number;
}

interface Tensors {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

export function readPadding(config: ModelConfig, tensors: Tensors, findings: Findings): Padding {
  const fills = new Map<number, Uint8Array>();
  const cuts = new Map<number, readonly Cut[]>();
  let ratioMax = padRatioMaxDefault;
  const written = Object.entries(config.parameters ?? {}).map(
    ([key, { string_value: text = '' }]) => [key, text, `parameters[${JSON.stringify(key)}]`] as const,
  );
  for (const [key, text, path] of written) {
    if (!key.startsWith(padPrefix)) continue;
    const index = takeIndex(key.slice(padPrefix.length), tensors.inputs, 'input', path, findings);
    const fill = index === undefined ? undefined : readFill(text, tensors.inputs[index] as TensorSpec, path, findings);
    if (index !== undefined && fill !== undefined) fills.set(index, fill);
  }
  for (const [key, text, path] of written) {
    if (key === padRatioParameter) ratioMax = readRatio(text, fills.size > 0, path, findings);
    if (!key.startsWith(unpadPrefix)) continue;
    const index = takeIndex(key.slice(unpadPrefix.length), tensors.outputs, 'output', path, findings);
    if (index !== undefined) cuts.set(index, readCuts(text, index, tensors, fills, path, findings));
  }
  return { fills, cuts, ratioMax };
}

function takeIndex(
  name: string,
  specs: readonly TensorSpec[],
  role: string,
  path: string,
  findings: Findings,
): number | undefined {
  const index = specs.findIndex((spec) => spec.name === name);
  if (index >= 0) return index;
  const names = specs.map((spec) => spec.name);
  const hint = suggestionFor(name, names) || `; it has ${names.join(', ')}`;
  findings.problem(path, `the model has no ${role} ${JSON.stringify(name)}${hint}`);
  return undefined;
}

function readFill(text: string, spec: TensorSpec, path: string, findings: Findings): Uint8Array | undefined {
  if (!spec.shape.slice(1).includes(-1)) {
    findings.problem(path, `${JSON.stringify(spec.name)} has no free size, so there is nothing to pad; remove it`);
    return undefined;
  }
  const fill = elementFrom(text, spec.datatype);
  if (fill === undefined) {
    findings.problem(path, `${JSON.stringify(text)} is not a value of ${spec.datatype} to pad with`);
  }
  return fill;
}

const wholeForms: Readonly<Partial<Record<Datatype, readonly [bits: number, isSigned: boolean]>>> = {
  INT8: [8, true],
  INT16: [16, true],
  INT32: [32, true],
  INT64: [64, true],
  UINT8: [8, false],
  UINT16: [16, false],
  UINT32: [32, false],
  UINT64: [64, false],
  BOOL: [1, false],
};

/** One element with this value; undefined when the text is not a value of the datatype, or it has no fixed size. */
function elementFrom(text: string, datatype: Datatype): Uint8Array | undefined {
  const bytes = datatypes[datatype].bytes;
  if (bytes === undefined || datatype === 'BF16') return undefined;
  const data = new Uint8Array(bytes);
  const elements = elementsOf({ datatype, data });
  const form = wholeForms[datatype];
  if (form === undefined) {
    const value = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isFinite(value)) return undefined;
    elements[0] = datatype === 'FP16' ? fp16From(value) : value;
    return data;
  }
  if (!/^-?\d{1,20}$/.test(text)) return undefined;
  const [bits, isSigned] = form;
  const value = BigInt(text);
  const max = isSigned ? 2n ** BigInt(bits - 1) - 1n : 2n ** BigInt(bits) - 1n;
  if (value > max || value < (isSigned ? -max - 1n : 0n)) return undefined;
  if (elements instanceof BigInt64Array || elements instanceof BigUint64Array) elements[0] = value;
  else elements[0] = Number(value);
  return data;
}

function readRatio(text: string, isPadding: boolean, path: string, findings: Findings): number {
  const [min, max] = padRatioRange;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    findings.problem(path, `${JSON.stringify(text)} is not a number from ${min} to ${max}`);
    return padRatioMaxDefault;
  }
  if (!isPadding) findings.problem(path, `has no meaning without a ${padPrefix}INPUT; remove it`);
  return value;
}

const cutForm = 'write AXIS=INPUT:AXIS, for instance 1=tokens:1, with the batch as axis 0; several with commas';

function readCuts(
  text: string,
  output: number,
  { inputs, outputs }: Tensors,
  fills: Padding['fills'],
  path: string,
  findings: Findings,
): readonly Cut[] {
  const spec = outputs[output] as TensorSpec;
  const cuts: Cut[] = [];
  if (spec.datatype === 'BYTES') findings.problem(path, 'an output of texts cannot be cut; remove it');
  for (const part of text.split(/,(?=\d+=)/)) {
    const match = /^(\d{1,3})=(.+):(\d{1,3})$/.exec(part.trim());
    if (match === null) {
      findings.problem(path, `${JSON.stringify(part)} is not understood; ${cutForm}`);
      continue;
    }
    const [axis, input, inputAxis] = [
      Number(match[1]),
      takeIndex(match[2] as string, inputs, 'input', path, findings),
      Number(match[3]),
    ];
    if (input === undefined) continue;
    const source = inputs[input] as TensorSpec;
    if (!fills.has(input))
      findings.problem(path, `${JSON.stringify(source.name)} is not padded; add ${padPrefix}${source.name}`);
    else if (spec.shape[axis] !== -1 || axis === 0)
      findings.problem(path, `axis ${axis} of the output has no free size; ${cutForm}`);
    else if (source.shape[inputAxis] !== -1 || inputAxis === 0) {
      findings.problem(path, `axis ${inputAxis} of ${JSON.stringify(source.name)} has no free size; ${cutForm}`);
    } else cuts.push({ axis, input, inputAxis });
  }
  return cuts;
}
