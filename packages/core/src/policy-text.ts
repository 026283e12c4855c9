/** A model's policy as fields of a text line; defaults are left out. */
import { type ModelPolicy, openQueue, type QueuePolicy, resolveModelPolicy } from './model-policy.ts';

export function formatPolicy(policy: ModelPolicy): string {
  const fields = [
    `rows-max=${policy.rowsMax}`,
    `queue-requests-max=${policy.queueRequestsMax}`,
    `queue-bytes-max=${policy.queueBytesMax}`,
    `run-ms-max=${policy.runMsMax}`,
  ];
  if (policy.preferredRows.length > 0) fields.push(`preferred-rows=${policy.preferredRows.join(',')}`);
  if (policy.delayMs !== 0) fields.push(`delay-ms=${policy.delayMs}`);
  if (policy.isOrdered) fields.push('ordered=1');
  if (policy.queues.length > 1 || formatQueue(policy.queues[0] as QueuePolicy) !== 'open') {
    fields.push(`queues=${policy.queues.map(formatQueue).join('/')}`);
  }
  if (policy.priorityDefault !== 1) fields.push(`priority-default=${policy.priorityDefault}`);
  if (policy.waitMsMax !== Number.POSITIVE_INFINITY) fields.push(`wait-ms-max=${policy.waitMsMax}`);
  if (policy.latencyTargetMs !== Number.POSITIVE_INFINITY) fields.push(`latency-target-ms=${policy.latencyTargetMs}`);
  if (policy.instancesInUseMax !== Number.POSITIVE_INFINITY) {
    fields.push(`instances-in-use-max=${policy.instancesInUseMax}`);
  }
  if (policy.weight !== 1) fields.push(`weight=${policy.weight}`);
  if (policy.isConcurrent) fields.push('concurrent=1');
  if (policy.sharesProgress) fields.push('shares-progress=1');
  if (policy.callerRunsMax !== Number.POSITIVE_INFINITY) fields.push(`caller-runs-max=${policy.callerRunsMax}`);
  if (policy.unreadMsMax !== Number.POSITIVE_INFINITY) fields.push(`unread-ms-max=${policy.unreadMsMax}`);
  return fields.join(' ');
}

/** Parses what `formatPolicy` writes. `field` returns a number or the fallback, `text` the value of a name. */
export function policyFromFields(
  field: (name: string, fallback: number) => number,
  text: (name: string) => string | undefined,
): ModelPolicy {
  return resolveModelPolicy({
    rowsMax: field('rows-max', 8),
    queueRequestsMax: field('queue-requests-max', 1000),
    queueBytesMax: field('queue-bytes-max', 1_000_000),
    runMsMax: field('run-ms-max', Number.POSITIVE_INFINITY),
    preferredRows: text('preferred-rows')?.split(',').map(Number) ?? [],
    delayMs: field('delay-ms', 0),
    isOrdered: field('ordered', 0) === 1,
    queues: text('queues')?.split('/').map(mustParseQueue) ?? [openQueue],
    priorityDefault: field('priority-default', 1),
    waitMsMax: field('wait-ms-max', Number.POSITIVE_INFINITY),
    latencyTargetMs: field('latency-target-ms', Number.POSITIVE_INFINITY),
    instancesInUseMax: field('instances-in-use-max', Number.POSITIVE_INFINITY),
    weight: field('weight', 1),
    isConcurrent: field('concurrent', 0) === 1,
    sharesProgress: field('shares-progress', 0) === 1,
    unreadMsMax: field('unread-ms-max', Number.POSITIVE_INFINITY),
    callerRunsMax: text('caller-runs-max') === 'share' ? 'share' : field('caller-runs-max', Number.POSITIVE_INFINITY),
  });
}

/** `open`, or the settings that differ from it, as in `max:10,timeout-ms:50,delay,override`. */
function formatQueue(queue: QueuePolicy): string {
  const fields: string[] = [];
  if (queue.requestsMax !== Number.POSITIVE_INFINITY) fields.push(`max:${queue.requestsMax}`);
  if (queue.timeoutMs !== Number.POSITIVE_INFINITY) fields.push(`timeout-ms:${queue.timeoutMs}`);
  if (queue.timeoutAction === 'delay') fields.push('delay');
  if (queue.allowsTimeoutOverride) fields.push('override');
  return fields.length === 0 ? 'open' : fields.join(',');
}

function mustParseQueue(text: string): QueuePolicy {
  let queue = openQueue;
  for (const setting of text.split(',')) {
    const [name, value] = setting.split(':');
    if (name === 'max') queue = { ...queue, requestsMax: Number(value) };
    else if (name === 'timeout-ms') queue = { ...queue, timeoutMs: Number(value) };
    else if (name === 'delay') queue = { ...queue, timeoutAction: 'delay' };
    else if (name === 'override') queue = { ...queue, allowsTimeoutOverride: true };
    else if (name !== 'open') throw new Error(`unknown queue setting "${setting}"`);
  }
  return queue;
}
