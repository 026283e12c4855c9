import {
  batchRowsBuckets,
  connectionMetrics,
  generatorMetrics,
  latencyBucketsSeconds,
  lifeCycleMetrics,
  loopDelayBucketsSeconds,
  type MetricSpec,
  memoryMetrics,
  modelMetrics,
  processMetrics,
  schedulerMetrics,
  serverMetrics,
  streamMetrics,
  tritonMetrics,
  vllmMetrics,
} from '@millrace/router/internal';
import { expect, test } from 'vitest';

function section(title: string, table: Readonly<Record<string, MetricSpec>>): string {
  const rows = Object.values(table).map((spec) => {
    const labels = spec.labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${spec.name}\` | ${spec.type} | ${labels} | ${spec.help} |`;
  });
  return [`## ${title}`, '', '| Name | Type | Labels | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
}

const reference = [
  '# Metrics',
  '',
  '<!-- Made from packages/router/src/telemetry/metric-table.ts by `npm run reference`; a test keeps both equal. -->',
  '',
  '`GET /metrics` on the metrics port (8002 unless configured) answers in the Prometheus text format, or in',
  'OpenMetrics 1.0 when the scraper asks for `application/openmetrics-text`.',
  '',
  'Labels take their values from the operator (models, versions) and from closed lists (error codes, states); a name',
  'that a caller makes up never becomes one. The series of a model version end when it is unloaded. Every counter',
  'is there with 0 from the moment its model version is ready, those of the server from its start, so that `increase()` and',
  '`rate()` see the first event.',
  '',
  section('Models', modelMetrics),
  `Buckets of times, in seconds: ${latencyBucketsSeconds.join(', ')}.`,
  '',
  `Buckets of \`${modelMetrics.batchRows.name}\`: ${batchRowsBuckets.join(', ')}.`,
  '',
  section('Generators', generatorMetrics),
  section('Instances and queues', schedulerMetrics),
  section('Memory of requests', memoryMetrics),
  section('Life of models', lifeCycleMetrics),
  section('Durable streams', streamMetrics),
  section('Server', serverMetrics),
  section('Connections', connectionMetrics),
  section('Process', processMetrics),
  `Buckets of \`${processMetrics.loopDelaySeconds.name}\`: ${loopDelayBucketsSeconds.join(', ')}.`,
  '',
  section('Triton names', tritonMetrics),
  'The Triton table repeats facts of the first one under the names Triton gives them, for the dashboards and autoscalers',
  'that already read those. Its counters do not end in `_total`, so OpenMetrics shows them as `unknown`.',
  '',
  section('vLLM names', vllmMetrics),
  'For [generators](generators.md): the same series as in the table of generators (and `millrace_request_seconds` and `millrace_queue_seconds`) under',
  'the names that dashboards and autoscalers of text generation read. `model_name` is the name of the model.',
  '',
].join('\n');

test('docs/reference/metrics.md says what the metric table says', async () => {
  await expect(reference).toMatchFileSnapshot('../../docs/reference/metrics.md');
});

test('every metric is named once, and with the ending its type asks for', () => {
  const all = [
    modelMetrics,
    generatorMetrics,
    schedulerMetrics,
    memoryMetrics,
    lifeCycleMetrics,
    streamMetrics,
    serverMetrics,
    connectionMetrics,
    processMetrics,
  ].flatMap((table): MetricSpec[] => Object.values(table));
  const names = [...all, ...Object.values(tritonMetrics), ...Object.values(vllmMetrics)].map((spec) => spec.name);
  expect(new Set(names).size).toBe(names.length);
  for (const spec of all) {
    expect(spec.name.endsWith('_total'), spec.name).toBe(spec.type === 'counter');
    expect(spec.help, spec.name).toMatch(/\.$/);
    if (spec.type === 'histogram' && spec.name !== modelMetrics.batchRows.name) {
      expect(spec.name).toMatch(/_seconds$/);
    }
  }
});
