/** Triton's `dynamic_batching`, read into the policy that the scheduler follows. */
import { type ModelPolicy, openQueue, type QueuePolicy } from '@millrace/core';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

type DynamicBatching = NonNullable<ModelConfig['dynamic_batching']>;
type WrittenQueue = NonNullable<DynamicBatching['default_queue_policy']>;

export type BatchingPolicy = Pick<
  ModelPolicy,
  'preferredRows' | 'delayMs' | 'isOrdered' | 'queues' | 'priorityDefault'
>;

/** Each level has a queue of its own; the limit keeps a typing error from making millions of them. */
const priorityLevelsMax = 1024;

/** Reads the settings that do not depend on the batch size; the others are checked when the graph is known. */
export function readDynamicBatching(config: ModelConfig, findings: Findings): BatchingPolicy {
  const batching = config.dynamic_batching ?? {};
  checkLevels(batching, findings);
  checkOrdering(batching, findings);
  const sizes = new Set(batching.preferred_batch_size ?? []);
  return {
    preferredRows: [...sizes].sort((left, right) => left - right),
    delayMs: Number(batching.max_queue_delay_microseconds ?? 0) / 1000,
    isOrdered: batching.preserve_ordering === true,
    queues: queuesFrom(batching),
    priorityDefault: Math.max(1, Number(batching.default_priority_level ?? 0)),
  };
}

/** Requests that the levels let wait together; undefined when one of them sets no maximum. */
export function takeQueueSize(config: ModelConfig): number | undefined {
  const size = queuesFrom(config.dynamic_batching ?? {}).reduce((sum, { requestsMax }) => sum + requestsMax, 0);
  return size === Number.POSITIVE_INFINITY ? undefined : size;
}

function checkLevels(batching: DynamicBatching, findings: Findings): void {
  const levels = batching.priority_levels ?? 0;
  const level = batching.default_priority_level ?? 0;
  if (levels > priorityLevelsMax) {
    findings.problem(
      'dynamic_batching.priority_levels',
      `${levels} is out of range; it must be at most ${priorityLevelsMax}`,
    );
  }
  if (levels > 0 ? level < 1 || level > levels : level > 0) {
    findings.problem('dynamic_batching.default_priority_level', `must be from 1 to priority_levels (${levels})`);
  }
  for (const key of Object.keys(batching.priority_queue_policy ?? {})) {
    if (Number(key) >= 1 && Number(key) <= levels) continue;
    findings.problem(
      `dynamic_batching.priority_queue_policy[${JSON.stringify(key)}]`,
      `is for a level that does not exist; levels are from 1 to priority_levels (${levels})`,
    );
  }
}

function checkOrdering(batching: DynamicBatching, findings: Findings): void {
  if (batching.preserve_ordering !== true) return;
  const levels = batching.priority_levels ?? 0;
  if (levels > 1) {
    findings.problem(
      'dynamic_batching.preserve_ordering',
      `answers cannot keep the order of arrival with ${levels} priority levels; remove it, or write priority_levels: 1`,
    );
  }
  const written: [string, WrittenQueue][] = [
    ['dynamic_batching.default_queue_policy', batching.default_queue_policy ?? {}],
    ...Object.entries(batching.priority_queue_policy ?? {}).map(([key, queue]): [string, WrittenQueue] => [
      `dynamic_batching.priority_queue_policy[${JSON.stringify(key)}]`,
      queue,
    ]),
  ];
  for (const [path, queue] of written) {
    const { timeoutMs, timeoutAction } = queueFrom(queue);
    if (timeoutAction !== 'delay' || timeoutMs === Number.POSITIVE_INFINITY) continue;
    findings.problem(
      `${path}.timeout_action`,
      'DELAY lets requests be overtaken, which preserve_ordering forbids; write REJECT, or remove one of them',
    );
  }
}

function queuesFrom(batching: DynamicBatching): readonly QueuePolicy[] {
  const levels = Math.min(Math.max(1, Number(batching.priority_levels ?? 0)), priorityLevelsMax);
  return Array.from({ length: levels }, (_, index) =>
    queueFrom(batching.priority_queue_policy?.[`${index + 1}`] ?? batching.default_queue_policy ?? {}),
  );
}

function queueFrom(written: WrittenQueue): QueuePolicy {
  const timeoutMs = Number(written.default_timeout_microseconds ?? 0) / 1000;
  const requestsMax = written.max_queue_size ?? 0;
  return {
    requestsMax: requestsMax > 0 ? requestsMax : openQueue.requestsMax,
    timeoutMs: timeoutMs > 0 ? timeoutMs : openQueue.timeoutMs,
    timeoutAction: written.timeout_action === 'DELAY' ? 'delay' : 'refuse',
    allowsTimeoutOverride: written.allow_timeout_override === true,
  };
}
