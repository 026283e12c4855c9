/** Medians, ratios and whether the goals were reached, as JSON and as a table for people. */
import type { ReportTable, Sample, Scenario } from './scenario.ts';
import { median } from './statistics.ts';

export interface GoalResult {
  readonly statement: string;
  readonly value: number;
  readonly bound: number;
  readonly isReached: boolean;
}

export interface ScenarioResult {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly medians: Sample;
  readonly samples: readonly Sample[];
  /** Of the last minute; about 2 when nothing but the bench runs. */
  readonly loadAverage: number;
  readonly goals: readonly GoalResult[];
  readonly tables?: readonly ReportTable[];
}

export function resultFrom(
  scenario: Scenario,
  samples: readonly Sample[],
  loadAverage: number,
  tables: readonly ReportTable[] = [],
): ScenarioResult {
  const medians: Record<string, number> = {};
  for (const name of Object.keys(samples[0] ?? {}))
    medians[name] = median(samples.map((sample) => sample[name] as number));
  const goals: GoalResult[] = [];
  for (const { statement, bound, isMinimum, value } of scenario.goals) {
    const reached = value(medians);
    // Without `/proc` there is no processor time, and no goal about it.
    if (Number.isNaN(reached)) continue;
    goals.push({ statement, value: reached, bound, isReached: isMinimum ? reached >= bound : reached <= bound });
  }
  const { name, title, unit } = scenario;
  const result = { name, title, unit, medians, samples, loadAverage, goals };
  return tables.length === 0 ? result : { ...result, tables };
}

export function markdownFrom(results: readonly ScenarioResult[], machine: string): string {
  const lines = ['# Bench results', '', machine, ''];
  for (const { title, unit, medians, loadAverage, goals, tables } of results) {
    lines.push(`## ${title}`, '', `| contestant | median, ${unit} |`, '|---|---|');
    for (const [name, figure] of Object.entries(medians)) lines.push(`| ${name} | ${formatFigure(figure)} |`);
    lines.push('', `Load average of the machine: ${loadAverage.toFixed(1)}.`, '');
    for (const goal of goals) {
      lines.push(
        `- ${goal.statement}: ${formatFigure(goal.value)} (${goal.isReached ? 'reached' : '**not reached**'})`,
      );
    }
    lines.push('');
    for (const table of tables ?? []) lines.push(...tableLines(table));
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

function tableLines({ title, rows }: ReportTable): readonly string[] {
  const columns = [...new Set(Object.values(rows).flatMap((row) => Object.keys(row)))];
  const lines = Object.entries(rows).map(
    ([name, row]) => `| ${name} | ${columns.map((column) => formatCell(row[column])).join(' | ')} |`,
  );
  return [`${title}:`, '', `| | ${columns.join(' | ')} |`, `|---|${'---|'.repeat(columns.length)}`, ...lines, ''];
}

/** Counts are whole numbers, and stay so. */
function formatCell(figure: number | undefined): string {
  if (figure === undefined) return '';
  return Number.isInteger(figure) ? String(figure) : formatFigure(figure);
}

function formatFigure(figure: number): string {
  return figure >= 1000 ? Math.round(figure).toLocaleString('en') : figure.toPrecision(3);
}
