import type { InstanceSnapshot, QueueSnapshot } from '@millrace/core';
import { expect, test } from 'vitest';
import { renderMetrics } from './exposition.ts';
import { MetricsRegistry } from './registry.ts';
import { nameAndVersionOf, startSchedulerMetrics } from './scheduler-metrics.ts';

const instance: InstanceSnapshot = {
  worker: 3,
  model: 'mlp:2',
  breaker: 'open',
  outstandingBatches: 1,
  rowMs: 0.5,
  priorityMax: Infinity,
};
const queue: QueueSnapshot = {
  model: 'mlp:2',
  waitingRequests: 4,
  waitingBytes: 400,
  waitMs: 250,
  batchRowsMax: 16,
  instancesInUse: 1,
};

async function scrape(registry: MetricsRegistry): Promise<string[]> {
  await registry.collect();
  return renderMetrics(registry, 'prometheus')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

test('breakers, speed and waits are shown by model, version and worker', async () => {
  const registry = new MetricsRegistry();
  startSchedulerMetrics(registry, { instances: () => [instance], queues: () => [queue] });
  expect(await scrape(registry)).toEqual([
    'millrace_instance_breaker_state{model="mlp",version="2",worker="3"} 2',
    'millrace_instance_outstanding_batches{model="mlp",version="2",worker="3"} 1',
    'millrace_instance_row_seconds{model="mlp",version="2",worker="3"} 0.0005',
    'millrace_queue_wait_seconds{model="mlp",version="2"} 0.25',
    'millrace_batch_rows_max{model="mlp",version="2"} 16',
    'millrace_instances_in_use{model="mlp",version="2"} 1',
  ]);
});

test('unknown values are absent, and removed instances and queues are no longer shown', async () => {
  const registry = new MetricsRegistry();
  let instances: InstanceSnapshot[] = [{ ...instance, breaker: 'half-open', rowMs: undefined }];
  let queues: QueueSnapshot[] = [{ ...queue, waitMs: undefined }];
  startSchedulerMetrics(registry, { instances: () => instances, queues: () => queues });
  const first = await scrape(registry);
  expect(first[0]).toBe('millrace_instance_breaker_state{model="mlp",version="2",worker="3"} 1');
  expect(first.filter((line) => /row_seconds|wait_seconds/.test(line))).toEqual([]);
  instances = [];
  queues = [];
  expect(await scrape(registry)).toEqual([]);
});

test('a key is a name and a version, also where the name has colons', () => {
  expect(nameAndVersionOf('mlp:1')).toEqual(['mlp', '1']);
  expect(nameAndVersionOf('a:b:12')).toEqual(['a:b', '12']);
  expect(nameAndVersionOf('mlp:1#3')).toEqual(['mlp', '1']);
});
