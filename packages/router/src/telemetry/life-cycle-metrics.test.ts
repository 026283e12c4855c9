import { expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { renderMetrics } from './exposition.ts';
import { LifeCycleMetrics } from './life-cycle-metrics.ts';
import { MetricsRegistry } from './registry.ts';

function shown(registry: MetricsRegistry): readonly string[] {
  return renderMetrics(registry, 'prometheus')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('_bucket'));
}

test('loads, failures, evictions, demand and memory are shown, but not those of removed versions', () => {
  const registry = new MetricsRegistry();
  const metrics = new LifeCycleMetrics(registry, 1000);
  const model = servedModel([], []);
  metrics.loadStarted();
  metrics.loadStarted();
  metrics.loadFailed();
  metrics.modelEvicted(model);
  metrics.demandLoaded('m:1', 250);
  metrics.memoryMeasured(
    [
      { model, bytes: 300 },
      { model, bytes: 200 },
    ],
    600,
  );
  expect(shown(registry)).toEqual([
    'millrace_loads_total 2',
    'millrace_load_failures_total 1',
    'millrace_evictions_total{model="m",version="1"} 1',
    'millrace_demand_loads_total 1',
    'millrace_demand_seconds_sum 0.25',
    'millrace_demand_seconds_count 1',
    'millrace_model_memory_bytes{model="m",version="1"} 500',
    'millrace_memory_used_bytes 600',
    'millrace_memory_budget_bytes 1000',
  ]);
  metrics.memoryMeasured([], 0);
  expect(shown(registry)).toContain('millrace_model_memory_bytes{model="m",version="1"} 0');
  metrics.modelForgotten('m', '1');
  expect(shown(registry).filter((line) => line.includes('model='))).toEqual([]);
});

test('an absent memory budget is shown as 0', () => {
  const registry = new MetricsRegistry();
  new LifeCycleMetrics(registry, Number.POSITIVE_INFINITY);
  expect(shown(registry)).toContain('millrace_memory_budget_bytes 0');
});

test('a version has one verdict on its rows, the latest, until it is forgotten', () => {
  const registry = new MetricsRegistry();
  const metrics = new LifeCycleMetrics(registry, 1000);
  const verdicts = () => shown(registry).filter((line) => line.startsWith('millrace_model_row_verdict'));
  metrics.sharingKnown('m', '1', 'independent', true);
  metrics.sharingKnown('m', '2', 'dependent', false);
  metrics.sharingKnown('m', '1', 'unknown', false);
  expect(verdicts()).toEqual([
    'millrace_model_row_verdict{model="m",version="2",verdict="dependent",shares="no"} 1',
    'millrace_model_row_verdict{model="m",version="1",verdict="unknown",shares="no"} 1',
  ]);
  metrics.modelForgotten('m', '1');
  expect(verdicts()).toHaveLength(1);
});
