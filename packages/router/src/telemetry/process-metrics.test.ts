import { expect, test } from 'vitest';
import { renderMetrics } from './exposition.ts';
import { startProcessMetrics } from './process-metrics.ts';
import { MetricsRegistry } from './registry.ts';

test('a scrape reads the current state of the process, and nothing after stop', async () => {
  const registry = new MetricsRegistry();
  const metrics = startProcessMetrics(registry, {
    startedAtMs: 1_700_000_000_500,
    restarts: 2,
    polling: { polls: 70, pauses: 3 },
  });
  await registry.collect();
  const text = renderMetrics(registry, 'prometheus');
  const sampleOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  expect(sampleOf('process_start_time_seconds')).toBe(1_700_000_000.5);
  expect(sampleOf('millrace_router_restarts_total')).toBe(2);
  expect(sampleOf('millrace_event_loop_polls_total')).toBe(70);
  expect(sampleOf('millrace_event_loop_polling_pauses_total')).toBe(3);
  expect(sampleOf('process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(sampleOf('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(sampleOf('nodejs_heap_size_used_bytes')).toBeGreaterThan(1e5);
  expect(sampleOf('nodejs_heap_size_total_bytes')).toBeGreaterThanOrEqual(sampleOf('nodejs_heap_size_used_bytes'));
  for (const name of ['mean', 'p99', 'max']) {
    expect(sampleOf(`nodejs_eventloop_lag_${name}_seconds`)).toBeGreaterThanOrEqual(0);
  }
  if (process.platform === 'linux') {
    expect(sampleOf('process_open_fds')).toBeGreaterThan(2);
    expect(text).toMatch(/^process_max_fds (\d+|\+Inf)$/m);
  }
  metrics.stop();
  await registry.collect();
  expect(renderMetrics(registry, 'prometheus')).toBe(text);
});
