/** The scheduler's instances and queues, read at each scrape. */
import type { BreakerState, InstanceSnapshot, ModelKey, QueueSnapshot } from '@millrace/core';
import { type Families, registerAll, schedulerMetrics } from './metric-table.ts';
import type { MetricFamily, MetricsRegistry } from './registry.ts';

export interface SchedulerView {
  instances(): readonly InstanceSnapshot[];
  queues(): readonly QueueSnapshot[];
}

const breakerValues: Readonly<Record<BreakerState, number>> = { closed: 0, 'half-open': 1, open: 2 };

export function startSchedulerMetrics(registry: MetricsRegistry, view: SchedulerView): void {
  const families = registerAll(registry, schedulerMetrics);
  registry.onCollect(() => {
    // Cleared first, so that removed workers and models are no longer shown.
    for (const family of Object.values(families)) clear(family);
    for (const instance of view.instances()) showInstance(families, instance);
    for (const queue of view.queues()) showQueue(families, queue);
  });
}

function showInstance(families: Families<typeof schedulerMetrics>, instance: InstanceSnapshot): void {
  const { model, breaker, outstandingBatches, rowMs } = instance;
  const labels = [...nameAndVersionOf(model), String(instance.worker)] as const;
  families.breakerState.bind(...labels).set(breakerValues[breaker]);
  families.instanceBatches.bind(...labels).set(outstandingBatches);
  if (rowMs !== undefined) families.instanceRowSeconds.bind(...labels).set(rowMs / 1000);
}

function showQueue(families: Families<typeof schedulerMetrics>, queue: QueueSnapshot): void {
  const labels = nameAndVersionOf(queue.model);
  if (queue.waitMs !== undefined) families.queueWaitSeconds.bind(...labels).set(queue.waitMs / 1000);
  families.batchRowsMax.bind(...labels).set(queue.batchRowsMax);
  families.instancesInUse.bind(...labels).set(queue.instancesInUse);
}

/** A version has no colon, a name may have one; the number after a # is the revision of a reloaded version. */
export function nameAndVersionOf(key: ModelKey): readonly [name: string, version: string] {
  const colon = key.lastIndexOf(':');
  return [key.slice(0, colon), key.slice(colon + 1).replace(/#.*$/, '')];
}

function clear(family: MetricFamily): void {
  for (const { labelValues } of [...family.entries()]) family.remove(...labelValues);
}
