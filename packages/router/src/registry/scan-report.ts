import { type ConfigProblem, formatConfigProblem, type TensorSpec } from '@millrace/protocol';
import type { ModelDefinition, ModelFailure } from './model-definition.ts';
import type { RepositoryScan } from './repository.ts';

/** Why a model is not there, in one line, for its status. */
export function failureReason(failure: ModelFailure): string {
  return failure.problems.map(formatConfigProblem).join('; ');
}

/** A scan as people read it: what is served, what is not and why, and what is worth knowing. */
export function linesFromScan(scan: RepositoryScan): readonly string[] {
  const lines = scan.models.flatMap(linesFromModel);
  for (const { name, version, problems } of scan.failures) {
    lines.push(`${version === '' ? name : `${name}:${version}`}  not served`, ...linesFromProblems(problems));
  }
  if (scan.problems.length > 0) lines.push('problems', ...linesFromProblems(scan.problems));
  if (scan.warnings.length > 0) lines.push('warnings', ...linesFromProblems(scan.warnings));
  return lines;
}

function linesFromModel(model: ModelDefinition): string[] {
  const place = model.lane === 'inline' ? 'inline' : `${model.instanceCount} × ${model.workerGroup}`;
  return model.versions.flatMap(({ version, view }) => {
    const rows = view.isBatched ? `batches of up to ${view.rowsMax} rows` : 'not batched';
    return [
      `${model.name}:${version}  ${rows}, ${place}`,
      ...view.inputs.map((spec) => `  in   ${lineFromSpec(spec)}`),
      ...view.outputs.map((spec) => `  out  ${lineFromSpec(spec)}`),
    ];
  });
}

function lineFromSpec({ name, datatype, shape, isOptional }: TensorSpec): string {
  return `${name} ${datatype} [${shape.join(', ')}]${isOptional === true ? ' (optional)' : ''}`;
}

export function linesFromProblems(problems: readonly ConfigProblem[]): readonly string[] {
  return problems.map((problem) => `  ${formatConfigProblem(problem)}`);
}
