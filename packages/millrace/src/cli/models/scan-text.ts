/** Formats the result of a scan of model folders, as a table for people or JSON for programs. */
import { type ConfigProblem, formatConfigProblem } from '@millrace/protocol';
import type { ModelDefinition, ModelVersionDefinition, RepositoryScan } from '@millrace/router/internal';
import type { Paint } from '../../terminal.ts';
import { tensorsText } from '../start-screen.ts';
import { table } from '../text-layout.ts';

/** `isLoaded`: the models were loaded too, so whatever is listed can be. */
export function scanText(scan: RepositoryScan, paint: Paint, isLoaded: boolean): string {
  const lines: string[] = [];
  const rows = scan.models.flatMap((model) => model.versions.map((version) => rowOf(model, version)));
  if (rows.length > 0) {
    const [head = '', ...body] = table([['MODEL', 'VERSION', 'ROWS', 'RUNS', 'INPUTS', 'OUTPUTS'], ...rows]);
    lines.push(paint('dim', head), ...body);
  }
  for (const { name, version, problems } of scan.failures) {
    const title = version === '' ? name : `${name}:${version}`;
    lines.push('', `${paint('red', '✗')} ${paint('bold', title)} would not be served`, ...problemLines(problems));
  }
  if (scan.problems.length > 0) lines.push('', paint('red', 'Problems'), ...problemLines(scan.problems));
  if (scan.warnings.length > 0) lines.push('', paint('yellow', 'Warnings'), ...problemLines(scan.warnings));
  if (rows.length > 0 && !isLoaded) lines.push('', paint('dim', unloadedNote));
  if (rows.length + scan.failures.length + scan.problems.length === 0) {
    lines.push('No models: a model is a folder with a version folder in it, like mlp/1/model.onnx.');
  }
  return `${lines.join('\n').replace(/^\n/, '')}\n`;
}

const unloadedNote =
  'Models were read, not loaded: --load also finds out whether the engine knows their operators and can read their weights.';

function rowOf(model: ModelDefinition, definition: ModelVersionDefinition): string[] {
  const { version, view, policy } = definition;
  const rows = !view.isBatched ? '-' : policy.rowsMax > 1 ? `≤ ${policy.rowsMax}` : `≤ ${view.rowsMax}, alone`;
  return [model.name, version, rows, runsText(model, definition), tensorsText(view.inputs), tensorsText(view.outputs)];
}

function runsText(model: ModelDefinition, definition: ModelVersionDefinition): string {
  switch (definition.runner) {
    case 'ensemble':
      return `by ${[...new Set(definition.ensemble.plan.steps.map((step) => step.model))].join(', ')}`;
    case 'queue': {
      const workers = model.instanceCount === 1 ? '1 worker' : `${model.instanceCount} workers`;
      const spares = model.warmSpares === 0 ? '' : ` and ${model.warmSpares} spare`;
      const shared = model.isGroupShared ? `, group ${model.workerGroup}` : '';
      return model.lane === 'inline' ? 'inline' : `${workers}${spares}${shared}`;
    }
  }
}

function problemLines(problems: readonly ConfigProblem[]): string[] {
  return problems.map((problem) => `  ${formatConfigProblem(problem)}`);
}

export function scanJson(scan: RepositoryScan): string {
  const models = scan.models.map(({ name, path, lane, workerGroup, instanceCount, versions }) => ({
    name,
    path,
    lane,
    workerGroup,
    instanceCount,
    versions: versions.map(({ version, path: file, view, policy }) => ({
      version,
      path: file,
      inputs: view.inputs,
      outputs: view.outputs,
      isBatched: view.isBatched,
      requestRowsMax: view.rowsMax,
      batchRowsMax: policy.rowsMax,
      ...(view.sharing === undefined ? {} : { sharing: view.sharing }),
    })),
  }));
  const { failures, problems, warnings } = scan;
  return `${JSON.stringify({ models, failures, problems, warnings }, undefined, 2)}\n`;
}
