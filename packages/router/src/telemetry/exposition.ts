/** Renders the metrics for a scrape: the Prometheus text format 0.0.4, or OpenMetrics 1.0 where the scraper asks for it. */
import type { MetricFamily, MetricsRegistry } from './registry.ts';
import { Histogram } from './series.ts';

export type ExpositionFormat = 'prometheus' | 'openmetrics';

export const expositionContentTypes: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

export function renderMetrics(registry: MetricsRegistry, format: ExpositionFormat): string {
  const lines: string[] = [];
  for (const family of registry.families()) renderFamily(family, format, lines);
  if (format === 'openmetrics') lines.push('# EOF');
  lines.push('');
  return lines.join('\n');
}

function renderFamily(family: MetricFamily, format: ExpositionFormat, lines: string[]): void {
  const { name, type, help, labels } = family.spec;
  let familyName = name;
  let shownType: string = type;
  if (format === 'openmetrics' && type === 'counter') {
    // OpenMetrics requires every counter to end in _total and names the family without it. A counter that does not (one of
    // Triton's) keeps the name that dashboards use, and is shown without its type.
    if (name.endsWith('_total')) familyName = name.slice(0, -'_total'.length);
    else shownType = 'unknown';
  }
  let hasHead = false;
  for (const { labelValues, series } of family.entries()) {
    if (!hasHead) {
      lines.push(`# HELP ${familyName} ${escapeHelp(help, format)}`, `# TYPE ${familyName} ${shownType}`);
      hasHead = true;
    }
    const pairs = labelPairs(labels, labelValues);
    if (series instanceof Histogram) renderHistogram(name, pairs, series, lines);
    else lines.push(`${name}${braced(pairs)} ${formatNumber(series.value)}`);
  }
}

function renderHistogram(name: string, pairs: string, histogram: Histogram, lines: string[]): void {
  const prefix = pairs === '' ? '' : `${pairs},`;
  let cumulative = 0;
  for (let index = 0; index < histogram.counts.length; index += 1) {
    cumulative += histogram.counts[index] as number;
    const bound = histogram.bounds[index] ?? Number.POSITIVE_INFINITY;
    lines.push(`${name}_bucket{${prefix}le="${formatNumber(bound)}"} ${cumulative}`);
  }
  lines.push(
    `${name}_sum${braced(pairs)} ${formatNumber(histogram.sum)}`,
    `${name}_count${braced(pairs)} ${cumulative}`,
  );
}

function labelPairs(labels: readonly string[], values: readonly string[]): string {
  return labels.map((label, index) => `${label}="${escapeLabel(values[index] ?? '')}"`).join(',');
}

function braced(pairs: string): string {
  return pairs === '' ? '' : `{${pairs}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function escapeHelp(help: string, format: ExpositionFormat): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
