/** Inputs and outputs of models that have no graph to compare with: the configuration is all there is. */
import { type TensorSpec, takeDatatypeOfConfig } from '@millrace/protocol';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfigInput, ModelConfigOutput } from './config-text/model-config-schema.ts';
import { checkReshape, readDims } from './tensor-config.ts';

/** Every entry as a spec; those with a problem are left out. */
export function declaredSpecs(
  entries: readonly (ModelConfigInput | ModelConfigOutput)[],
  field: 'input' | 'output',
  isBatched: boolean,
  findings: Findings,
  mayReshape = false,
): readonly TensorSpec[] {
  const specs: TensorSpec[] = [];
  const seen = new Set<string>();
  if (entries.length === 0) findings.problem(field, `is missing; list every ${field} with name, data_type and dims`);
  for (const [index, entry] of entries.entries()) {
    const path = `${field}[${index}]`;
    const { name = '' } = entry;
    if (name === '') findings.problem(`${path}.name`, 'is missing');
    else if (seen.has(name)) findings.problem(`${path}.name`, `${JSON.stringify(name)} is listed twice`);
    seen.add(name);
    const datatype = takeDatatypeOfConfig(entry.data_type ?? '');
    if (datatype === undefined) findings.problem(`${path}.data_type`, 'is missing; write for instance TYPE_FP32');
    if (entry.reshape !== undefined && !mayReshape) {
      findings.problem(`${path}.reshape`, 'has no meaning here: there is no graph with another shape; remove it');
    }
    const dims = readDims(entry.dims, `${path}.dims`, findings);
    if (dims?.length === 0) findings.problem(`${path}.dims`, 'is missing; write -1 for a free size');
    const reshaped = readReshape(entry, dims, path, findings);
    if (name === '' || datatype === undefined || dims === undefined || dims.length === 0) continue;
    const withRows = (shape: readonly number[]) => (isBatched ? [-1, ...shape] : shape);
    const plain = { name, datatype, shape: withRows(dims) };
    const spec = reshaped === undefined ? plain : { ...plain, engineShape: withRows(reshaped) };
    const isOptional = 'optional' in entry && entry.optional === true;
    specs.push(isOptional ? { ...spec, isOptional } : spec);
  }
  return specs;
}

function readReshape(
  { reshape }: ModelConfigInput | ModelConfigOutput,
  dims: readonly number[] | undefined,
  path: string,
  findings: Findings,
): readonly number[] | undefined {
  if (reshape === undefined) return undefined;
  const shape = readDims(reshape.shape, `${path}.reshape.shape`, findings);
  if (dims !== undefined && shape !== undefined) checkReshape(dims, shape, `${path}.reshape`, findings);
  return shape;
}
