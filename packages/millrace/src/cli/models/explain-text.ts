/** Whether requests share runs of each model that a scan found, why, and what to change. */
import type { ModelDefinition, ModelVersionDefinition, RepositoryScan } from '@millrace/router/internal';
import type { Paint } from '../../terminal.ts';
import { table, wrapped } from '../text-layout.ts';

const width = 100;

export function explainText(scan: RepositoryScan, paint: Paint): string {
  const explained = scan.models.flatMap((model) =>
    model.versions.map((version) => explanationOf(model, version, scan)),
  );
  if (explained.length === 0) return '';
  const heads = ['MODEL', 'VERSION', 'MAX_BATCH_SIZE', 'SHARES RUNS', 'VERDICT', 'NODE'];
  const [head = '', ...body] = table([heads, ...explained.map(({ cells }) => cells)]);
  const lines = ['', paint('dim', head), ...body];
  for (const { cells, reason, advice } of explained) {
    lines.push('', paint('bold', `${cells[0]}:${cells[1]}`), ...paragraph('Why', reason));
    if (advice !== '') lines.push(...paragraph('Change', advice));
  }
  return `${lines.join('\n')}\n`;
}

interface Explanation {
  readonly cells: readonly string[];
  readonly reason: string;
  readonly advice: string;
}

function explanationOf(
  { name }: ModelDefinition,
  definition: ModelVersionDefinition,
  scan: RepositoryScan,
): Explanation {
  switch (definition.runner) {
    case 'ensemble': {
      const { version, view, ensemble } = definition;
      const steps = [...new Set(ensemble.plan.steps.map((step) => step.model))];
      const reason = `ensemble: shares where its steps do: ${steps.map((step) => `${step} ${stepShares(step, scan)}`).join(', ')}`;
      return { cells: [name, version, `${rowsMaxOf(view)}`, 'by step', '-', '-'], reason, advice: '' };
    }
    case 'queue':
      return ofQueue(name, definition);
  }
}

function ofQueue(name: string, { version, view, policy }: ModelVersionDefinition): Explanation {
  const rowsMax = rowsMaxOf(view);
  const { sharing } = view;
  if (sharing === undefined) {
    const isGenerator = view.isGenerator === true;
    const isShared = isGenerator || policy.rowsMax > 1;
    const reason = isGenerator
      ? 'a generator: texts join and leave its runs at every token; its load finds out whether that keeps their bits'
      : 'a pipeline has no graph: its max_batch_size and its own code decide';
    return { cells: [name, version, `${rowsMax}`, yesOrNo(isShared), '-', '-'], reason, advice: '' };
  }
  const { verdict, sharesRuns, reason, advice, isGuessed } = sharing;
  const guess = isGuessed ? ' (guessed)' : '';
  const node = verdict.kind === 'independent' || verdict.node === '' ? '-' : verdict.node;
  return { cells: [name, version, `${rowsMax}${guess}`, yesOrNo(sharesRuns), verdict.kind, node], reason, advice };
}

function rowsMaxOf({ isBatched, rowsMax }: ModelVersionDefinition['view']): number {
  return isBatched ? rowsMax : 0;
}

/** What a step runs is the version that the scan would serve, the highest of several. */
function stepShares(step: string, scan: RepositoryScan): string {
  const version = scan.models.find(({ name }) => name === step)?.versions.at(-1);
  return version === undefined ? 'unknown' : yesOrNo(version.view.sharing?.sharesRuns ?? version.policy.rowsMax > 1);
}

function yesOrNo(isShared: boolean): string {
  return isShared ? 'yes' : 'no';
}

function paragraph(title: string, text: string): string[] {
  const indent = ' '.repeat(10);
  return wrapped(text, width - indent.length).map(
    (line, index) => `${index === 0 ? `  ${title}:`.padEnd(indent.length) : indent}${line}`,
  );
}
