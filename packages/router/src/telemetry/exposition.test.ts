import { errorCatalogue } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ExpositionFormat, renderMetrics } from './exposition.ts';
import { MetricsObserver } from './metrics-observer.ts';
import { startProcessMetrics } from './process-metrics.ts';
import { MetricsRegistry } from './registry.ts';

interface ParsedFamily {
  readonly type: string;
  readonly samples: Map<string, number>;
}

const sampleForm = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$/;

/** Accepts only what the formats allow: HELP and TYPE first, families contiguous, buckets cumulative, no duplicates. */
function parseStrictly(text: string, format: ExpositionFormat): Map<string, ParsedFamily> {
  expect(text.endsWith('\n')).toBe(true);
  const lines = text.slice(0, -1).split('\n');
  if (format === 'openmetrics') expect(lines.pop()).toBe('# EOF');
  const families = new Map<string, ParsedFamily>();
  let current: { name: string; family: ParsedFamily } | undefined;
  let helped: string | undefined;
  for (const line of lines) {
    const help = /^# HELP ([\w:]+) (.+)$/.exec(line);
    const type = /^# TYPE ([\w:]+) (counter|gauge|histogram|unknown)$/.exec(line);
    if (help !== null) {
      helped = help[1];
    } else if (type !== null) {
      const name = type[1] as string;
      expect(helped, `HELP before TYPE of ${name}`).toBe(name);
      expect(families.has(name), `${name} appears once`).toBe(false);
      current = { name, family: { type: type[2] as string, samples: new Map() } };
      families.set(name, current.family);
    } else {
      const sample = sampleForm.exec(line);
      expect(sample, `a sample: ${line}`).not.toBeNull();
      const [, name = '', labels = '', written = ''] = sample ?? [];
      if (current === undefined) throw new Error(`no family before ${line}`);
      expect(suffixesOf(current.family.type, format), line).toContain(name.slice(current.name.length));
      expect(name.startsWith(current.name), line).toBe(true);
      const key = `${name}{${labels}}`;
      expect(current.family.samples.has(key), `${key} appears once`).toBe(false);
      const value = written === '+Inf' ? Number.POSITIVE_INFINITY : Number(written);
      expect(Number.isNaN(value), line).toBe(false);
      current.family.samples.set(key, value);
    }
  }
  for (const [name, family] of families) if (family.type === 'histogram') checkHistogram(name, family);
  return families;
}

function suffixesOf(type: string, format: ExpositionFormat): readonly string[] {
  if (type === 'histogram') return ['_bucket', '_sum', '_count'];
  return type === 'counter' && format === 'openmetrics' ? ['_total'] : [''];
}

function checkHistogram(name: string, family: ParsedFamily): void {
  const last = new Map<string, { bound: number; count: number }>();
  for (const [key, count] of family.samples) {
    const bucket = new RegExp(`^${name}_bucket\\{(.*?),?le="([^"]+)"\\}$`).exec(key);
    if (bucket === null) continue;
    const labels = bucket[1] as string;
    const bound = bucket[2] === '+Inf' ? Number.POSITIVE_INFINITY : Number(bucket[2]);
    const before = last.get(labels) ?? { bound: Number.NEGATIVE_INFINITY, count: 0 };
    expect(bound).toBeGreaterThan(before.bound);
    expect(count).toBeGreaterThanOrEqual(before.count);
    last.set(labels, { bound, count });
  }
  for (const [labels, { bound, count }] of last) {
    expect(bound).toBe(Number.POSITIVE_INFINITY);
    expect(family.samples.get(`${name}_count{${labels}}`)).toBe(count);
    expect(family.samples.has(`${name}_sum{${labels}}`)).toBe(true);
  }
}

function busyRegistry(): { registry: MetricsRegistry; stop: () => void } {
  const registry = new MetricsRegistry();
  const observer = new MetricsObserver(registry, { version: '1.2.3', node: 'v20.0.0' });
  const process = startProcessMetrics(registry, {
    startedAtMs: 1_700_000_000_000,
    restarts: 2,
    polling: { polls: 70, pauses: 3 },
  });
  const model = observer.observerFor('say "hi"\\\n', '1');
  const timing = { queueMs: 1, computeInputMs: 0.1, computeInferMs: 3, computeOutputMs: 0.1, totalMs: 5 };
  for (const code of Object.keys(errorCatalogue) as (keyof typeof errorCatalogue)[]) model.requestRefused(code);
  model.requestAdmitted(64);
  model.requestAnswered(timing, 40);
  model.batchRan(3, timing);
  observer.observerFor('other', '2').batchRan(5000, timing);
  observer.requestRefused('unknown-model');
  return { registry, stop: () => process.stop() };
}

test.each(['prometheus', 'openmetrics'] as const)('all metrics of a busy server are valid %s text', async (format) => {
  const { registry, stop } = busyRegistry();
  await registry.collect();
  const families = parseStrictly(renderMetrics(registry, format), format);
  stop();
  const suffix = format === 'openmetrics' ? '' : '_total';
  expect(families.get(`millrace_requests${suffix}`)?.type).toBe('counter');
  expect(families.get('millrace_request_seconds')?.type).toBe('histogram');
  expect(families.get('nv_inference_count')?.type).toBe(format === 'openmetrics' ? 'unknown' : 'counter');
  expect(families.size).toBeGreaterThan(30);
});

test('a histogram without labels, an infinite gauge and an unused family are written as the format requires', () => {
  const registry = new MetricsRegistry();
  registry
    .register({ name: 'h', type: 'histogram', help: 'H.', labels: [], buckets: [0.5, 1] })
    .bind()
    .observe(0.7);
  registry
    .register({ name: 'g', type: 'gauge', help: 'Two\nlines "quoted" \\.', labels: ['l'] })
    .bind('x')
    .set(-Infinity);
  registry.register({ name: 'unused', type: 'gauge', help: 'Never.', labels: ['l'] });
  expect(renderMetrics(registry, 'prometheus')).toBe(
    [
      '# HELP h H.',
      '# TYPE h histogram',
      'h_bucket{le="0.5"} 0',
      'h_bucket{le="1"} 1',
      'h_bucket{le="+Inf"} 1',
      'h_sum 0.7',
      'h_count 1',
      '# HELP g Two\\nlines "quoted" \\\\.',
      '# TYPE g gauge',
      'g{l="x"} -Inf',
      '',
    ].join('\n'),
  );
  expect(renderMetrics(registry, 'openmetrics')).toContain('# HELP g Two\\nlines \\"quoted\\" \\\\.');
});

test('no label value can break out of its quotes', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('"', '\\', '\n', '}', ',', '=', 'é', 'n') }), (value) => {
      const registry = new MetricsRegistry();
      registry
        .register({ name: 'g', type: 'gauge', help: 'G.', labels: ['l', 'm'] })
        .bind(value, 'end')
        .set(1);
      expect(parseStrictly(renderMetrics(registry, 'prometheus'), 'prometheus').get('g')?.samples.size).toBe(1);
    }),
    { seed: 21, numRuns: 300 },
  );
});
