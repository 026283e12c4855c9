import { errorCatalogue } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { silentObserver } from '../data-plane/observer.ts';
import { renderMetrics } from './exposition.ts';
import { streamFailureCodes, tritonReasonOf } from './failure-counters.ts';
import { MetricsObserver } from './metrics-observer.ts';
import { MetricsRegistry } from './registry.ts';

/** Codes with which no request to a known model fails, outside of streams. */
const edgeCodes: readonly string[] = [
  'unsupported-media',
  'not-found',
  'method-not-allowed',
  'load-not-allowed',
  'conflict',
  ...streamFailureCodes,
];

const timing = { queueMs: 2, computeInputMs: 0.25, computeInferMs: 3, computeOutputMs: 0.5, totalMs: 8 };

async function scrape(registry: MetricsRegistry): Promise<Map<string, number>> {
  await registry.collect();
  const lines = renderMetrics(registry, 'prometheus').split('\n');
  const samples = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

function observed(): { registry: MetricsRegistry; observer: MetricsObserver } {
  const registry = new MetricsRegistry();
  return { registry, observer: new MetricsObserver(registry, { version: '9.9.9', node: 'v20.1.0' }) };
}

test('an answered request is counted, timed and released from the gauges', async () => {
  const { registry, observer } = observed();
  const model = observer.observerFor('mlp', '1');
  model.requestAdmitted(256);
  model.requestAdmitted(256);
  model.requestsDispatched(1);
  let samples = await scrape(registry);
  expect(samples.get('millrace_queue_requests{model="mlp",version="1"}')).toBe(1);
  expect(samples.get('nv_inference_pending_request_count{model="mlp",version="1"}')).toBe(1);
  expect(samples.get('millrace_outstanding_requests{model="mlp",version="1"}')).toBe(2);
  model.batchRan(4, timing);
  model.requestAnswered(timing, 40);
  samples = await scrape(registry);
  const expected: Record<string, number> = {
    millrace_requests_total: 1,
    millrace_input_bytes_total: 512,
    millrace_output_bytes_total: 40,
    millrace_outstanding_requests: 1,
    millrace_request_seconds_count: 1,
    millrace_request_seconds_sum: 0.008,
    millrace_queue_seconds_sum: 0.002,
    millrace_compute_seconds_sum: 0.003,
    millrace_batch_rows_sum: 4,
    nv_inference_request_success: 1,
    nv_inference_count: 4,
    nv_inference_exec_count: 1,
    nv_inference_request_duration_us: 8000,
    nv_inference_queue_duration_us: 2000,
    nv_inference_compute_input_duration_us: 250,
    nv_inference_compute_infer_duration_us: 3000,
    nv_inference_compute_output_duration_us: 500,
  };
  for (const [name, value] of Object.entries(expected)) {
    expect(samples.get(`${name}{model="mlp",version="1"}`), name).toBeCloseTo(value, 9);
  }
  expect(samples.get('millrace_request_seconds_bucket{model="mlp",version="1",le="0.005"}')).toBe(0);
  expect(samples.get('millrace_request_seconds_bucket{model="mlp",version="1",le="0.01"}')).toBe(1);
});

test('a request that fails while it waits leaves the queue, one that fails while it runs does not leave it twice', async () => {
  const { registry, observer } = observed();
  const model = observer.observerFor('mlp', '1');
  for (let count = 0; count < 3; count += 1) model.requestAdmitted(1);
  model.requestsDispatched(2);
  model.requestsRequeued(1);
  model.requestFailed('deadline-exceeded', 10, true, 3);
  model.requestFailed('inference-failed', 20, false, 3);
  const samples = await scrape(registry);
  expect(samples.get('millrace_queue_requests{model="mlp",version="1"}')).toBe(1);
  expect(samples.get('millrace_outstanding_requests{model="mlp",version="1"}')).toBe(1);
  expect(samples.get('millrace_failures_total{model="mlp",version="1",code="deadline-exceeded"}')).toBe(1);
  expect(samples.get('nv_inference_request_failure{model="mlp",version="1",reason="REJECTED"}')).toBe(1);
  expect(samples.get('nv_inference_request_failure{model="mlp",version="1",reason="BACKEND"}')).toBe(1);
  expect(observer.statisticsOf('mlp', '1')).toMatchObject({
    answered: { count: 0, ns: 0n },
    failed: { count: 2, ns: 30_000_000n },
  });
});

test('saved work is counted by where it was saved, and its series are removed with the model', async () => {
  const { registry, observer } = observed();
  const model = observer.observerFor('mlp', '1');
  for (let count = 0; count < 5; count += 1) model.requestAdmitted(1);
  model.requestFailed('deadline-exceeded', 1, true, 2);
  model.requestFailed('queue-timeout', 1, true, 3);
  model.requestFailed('cancelled', 1, true, 4);
  // Neither of these saved work: one ran, the other was refused.
  model.requestFailed('cancelled', 1, false, 100);
  model.requestFailed('model-full', 1, true, 100);
  model.batchSkipped(5);
  let samples = await scrape(registry);
  const ofModel = 'model="mlp",version="1"';
  expect(samples.get(`millrace_abandoned_requests_total{${ofModel},reason="expired"}`)).toBe(2);
  expect(samples.get(`millrace_abandoned_requests_total{${ofModel},reason="cancelled"}`)).toBe(1);
  expect(samples.get(`millrace_skipped_batches_total{${ofModel}}`)).toBe(1);
  expect(samples.get(`millrace_saved_rows_total{${ofModel}}`)).toBe(14);
  observer.modelForgotten('mlp', '1');
  samples = await scrape(registry);
  expect([...samples.keys()].filter((name) => name.includes('mlp'))).toEqual([]);
});

test('a refusal counts as a failed request without touching the gauges', async () => {
  const { registry, observer } = observed();
  observer.observerFor('mlp', '1').requestRefused('model-full');
  observer.requestRefused('unknown-model');
  const samples = await scrape(registry);
  expect(samples.get('millrace_outstanding_requests{model="mlp",version="1"}')).toBe(0);
  expect(samples.get('millrace_failures_total{model="mlp",version="1",code="model-full"}')).toBe(1);
  expect(samples.get('millrace_failures_total{model="",version="",code="unknown-model"}')).toBe(1);
  expect(samples.get('millrace_requests_total{model="",version=""}')).toBe(1);
});

test('every code of the catalogue has one of Triton\u2019s four reasons', () => {
  const reasons = Object.keys(errorCatalogue).map((code) => tritonReasonOf(code as keyof typeof errorCatalogue));
  expect(new Set(reasons)).toEqual(new Set(['REJECTED', 'CANCELED', 'BACKEND', 'OTHER']));
  expect(tritonReasonOf('cancelled')).toBe('CANCELED');
  expect(tritonReasonOf('invalid-request')).toBe('OTHER');
});

test('Triton: every counter of a version is 0 before its first request, and removed with the version', async () => {
  const { registry, observer } = observed();
  const before = (await scrape(registry)).size;
  const model = observer.observerFor('mlp', '1');
  model.cacheAttached();
  model.sequencesAttached();
  model.generator();
  const samples = await scrape(registry);
  for (const { spec } of registry.families()) {
    if (spec.type !== 'counter' || !spec.labels[0]?.startsWith('model')) continue;
    const values = spec.values?.filter((value) => !edgeCodes.includes(value)).map((value) => [value]) ?? [[]];
    for (const more of values) {
      const pairs = ['mlp', '1', ...more].map((value, index) => `${spec.labels[index]}="${value}"`);
      expect(samples.get(`${spec.name}{${pairs}}`), `${spec.name} ${more}`).toBe(0);
    }
  }
  observer.modelForgotten('mlp', '1');
  expect((await scrape(registry)).size).toBe(before);
});

test('failures of requests without a model are 0 for every code from the start', async () => {
  const samples = await scrape(observed().registry);
  expect(samples.get('millrace_requests_total{model="",version=""}')).toBe(0);
  for (const code of Object.keys(errorCatalogue)) {
    expect(samples.get(`millrace_failures_total{model="",version="",code="${code}"}`), code).toBe(0);
  }
});

test('statistics are exact, per batch size, and have the time of the last answer', () => {
  let now = 1_700_000_000_000;
  const observer = new MetricsObserver(new MetricsRegistry(), { version: '1', node: '2' }, () => now);
  const model = observer.observerFor('mlp', '1');
  expect(observer.statisticsOf('mlp', '1')?.lastAnsweredAt).toBe(0);
  for (const rows of [8, 2, 8]) {
    model.requestAdmitted(1);
    model.batchRan(rows, timing);
    model.requestAnswered(timing, 1);
    now += 5;
  }
  const counted = observer.statisticsOf('mlp', '1');
  expect(counted).toMatchObject({
    answered: { count: 3, ns: 24_000_000n },
    queue: { count: 3, ns: 6_000_000n },
    computeInput: { count: 3, ns: 750_000n },
    computeInfer: { count: 3, ns: 9_000_000n },
    computeOutput: { count: 3, ns: 1_500_000n },
    rowsRun: 18,
    batchesRun: 3,
    lastAnsweredAt: 1_700_000_000_010,
  });
  expect(counted?.batches.map(({ rows, computeInfer }) => [rows, computeInfer])).toEqual([
    [2, { count: 1, ns: 3_000_000n }],
    [8, { count: 2, ns: 6_000_000n }],
  ]);
});

test('a removed version leaves no series behind, and starts at 0 when it is served again', async () => {
  const { registry, observer } = observed();
  const model = observer.observerFor('mlp', '1');
  model.modelLoaded(1500);
  model.readinessChanged(true);
  model.requestRefused('model-full');
  model.batchRan(1, timing);
  let samples = await scrape(registry);
  expect(samples.get('millrace_model_load_seconds{model="mlp",version="1"}')).toBe(1.5);
  expect(samples.get('millrace_model_ready{model="mlp",version="1"}')).toBe(1);
  observer.modelForgotten('mlp', '1');
  samples = await scrape(registry);
  expect([...samples.keys()].filter((key) => key.includes('mlp'))).toEqual([]);
  expect(observer.statisticsOf('mlp', '1')).toBeUndefined();
  observer.observerFor('mlp', '1');
  expect(observer.statisticsOf('mlp', '1')?.batchesRun).toBe(0);
});

test('workers, restarts, build and dropped series are shown from the start', async () => {
  const { registry, observer } = observed();
  let samples = await scrape(registry);
  expect(samples.get('millrace_build_info{version="9.9.9",node="v20.1.0"}')).toBe(1);
  expect(samples.get('millrace_worker_restarts_total')).toBe(0);
  expect(samples.get('millrace_workers{state="ready"}')).toBe(0);
  expect(samples.get('millrace_metric_series_dropped_total')).toBe(0);
  observer.workersChanged({ starting: 1, ready: 2, stopping: 3, standby: 4 });
  observer.workerRestarted();
  samples = await scrape(registry);
  expect(samples.get('millrace_workers{state="starting"}')).toBe(1);
  expect(samples.get('millrace_workers{state="ready"}')).toBe(2);
  expect(samples.get('millrace_workers{state="stopping"}')).toBe(3);
  expect(samples.get('millrace_workers{state="standby"}')).toBe(4);
  expect(samples.get('millrace_worker_restarts_total')).toBe(1);
});

test('series beyond the maximum are counted where the operator can see it', async () => {
  const registry = new MetricsRegistry({ seriesMax: 3 });
  const observer = new MetricsObserver(registry, { version: '1', node: '2' });
  for (const model of ['a', 'b', 'c', 'd']) observer.observerFor(model, '1').batchRan(1, timing);
  const samples = await scrape(registry);
  expect(samples.get('millrace_metric_series_dropped_total')).toBeGreaterThan(0);
  expect(samples.has('millrace_batch_rows_count{model="d",version="1"}')).toBe(false);
});

test('the silent observer takes every call', () => {
  const model = silentObserver.observerFor('m', '1');
  model.requestAdmitted(1);
  model.requestAnswered(timing, 1);
  model.requestFailed('internal', 1, true, 1);
  expect(silentObserver.observerFor('n', '1')).toBe(model);
});
