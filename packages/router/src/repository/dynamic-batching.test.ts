import { openQueue } from '@millrace/core';
import { expect, test } from 'vitest';
import { serveTestModel, testConfig } from './testing/test-model.ts';

async function policyOf(batching: string, more = '') {
  const { policy, warnings } = await serveTestModel({
    config: `${testConfig} dynamic_batching { ${batching} } ${more}`,
  });
  expect(warnings).toEqual([]);
  return policy;
}

test('by default a model has one queue without limits, which holds nothing back', async () => {
  expect(await policyOf('')).toMatchObject({
    preferredRows: [],
    delayMs: 0,
    isOrdered: false,
    queues: [openQueue],
    priorityDefault: 1,
    weight: 1,
    queueRequestsMax: 4096,
  });
});

test('preferred sizes are sorted, and the delay is counted in milliseconds', async () => {
  const policy = await policyOf('preferred_batch_size: [ 8, 2, 4, 2 ] max_queue_delay_microseconds: 1500');
  expect([policy.preferredRows, policy.delayMs]).toEqual([[2, 4, 8], 1.5]);
});

test('each level has its own policy, or the default one', async () => {
  const policy = await policyOf(`priority_levels: 3 default_priority_level: 2
    default_queue_policy { max_queue_size: 10 default_timeout_microseconds: 50000 allow_timeout_override: true }
    priority_queue_policy { key: 3 value { timeout_action: DELAY default_timeout_microseconds: 9 max_queue_size: 5 } }`);
  const usual = { requestsMax: 10, timeoutMs: 50, timeoutAction: 'refuse', allowsTimeoutOverride: true };
  const last = { requestsMax: 5, timeoutMs: 0.009, timeoutAction: 'delay', allowsTimeoutOverride: false };
  expect([policy.queues, policy.priorityDefault]).toEqual([[usual, usual, last], 2]);
  // The model's own bound is no tighter than that of its levels.
  expect(policy.queueRequestsMax).toBe(25);
});

test('a level without a maximum leaves the bound to the server', async () => {
  const policy = await policyOf(`priority_levels: 2 default_priority_level: 1
    priority_queue_policy { key: 1 value { max_queue_size: 5 } }`);
  expect(policy.queues.map(({ requestsMax }) => requestsMax)).toEqual([5, Number.POSITIVE_INFINITY]);
  expect(policy.queueRequestsMax).toBe(4096);
});

test('preserve_ordering is accepted, also with one explicit priority level', async () => {
  expect(await policyOf('preserve_ordering: true priority_levels: 1 default_priority_level: 1')).toMatchObject({
    isOrdered: true,
  });
});

test('a weight is a parameter of the model', async () => {
  const policy = await policyOf('', 'parameters { key: "millrace.weight" value { string_value: "3" } }');
  expect(policy.weight).toBe(3);
});
