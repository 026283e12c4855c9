/** A model's policy as words of a line: what is as usual is left out. */
import { type ModelPolicy, openQueue, type QueuePolicy, resolveModelPolicy } from './model-policy.ts';

export function formatPolicy(policy: ModelPolicy): string {
  const words = [
    `rows-max=${policy.rowsMax}`,
    `queue-requests-max=${policy.queueRequestsMax}`,
    `queue-bytes-max=${policy.queueBytesMax}`,
    `run-ms-max=${policy.runMsMax}`,
  ];
  if (policy.preferredRows.length > 0) words.push(`preferred-rows=${policy.preferredRows.join(',')}`);
  if (policy.delayMs !== 0) words.push(`delay-ms=${policy.delayMs}`);
  if (policy.isOrdered) words.push('ordered=1');
  if (policy.queues.length > 1 || formatQueue(policy.queues[0] as QueuePolicy) !== 'open') {
    words.push(`queues=${policy.queues.map(formatQueue).join('/')}`);
  }
  if (policy.priorityDefault !== 1) words.push(`priority-default=${policy.priorityDefault}`);
  if (policy.waitMsMax !== Number.POSITIVE_INFINITY) words.push(`wait-ms-max=${policy.waitMsMax}`);
  if (policy.latencyTargetMs !== Number.POSITIVE_INFINITY) words.push(`latency-target-ms=${policy.latencyTargetMs}`);
  if (policy.weight !== 1) words.push(`weight=${policy.weight}`);
  if (policy.isConcurrent) words.push('concurrent=1');
  return words.join(' ');
}

/** Reads what `formatPolicy` writes. `field` gives a number or the fallback, `text` what stands behind a name. */
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
    weight: field('weight', 1),
    isConcurrent: field('concurrent', 0) === 1,
  });
}

/** `open`, or what is not, as in `max:10,timeout-ms:50,delay,override`. */
function formatQueue(queue: QueuePolicy): string {
  const words: string[] = [];
  if (queue.requestsMax !== Number.POSITIVE_INFINITY) words.push(`max:${queue.requestsMax}`);
  if (queue.timeoutMs !== Number.POSITIVE_INFINITY) words.push(`timeout-ms:${queue.timeoutMs}`);
  if (queue.timeoutAction === 'delay') words.push('delay');
  if (queue.allowsTimeoutOverride) words.push('override');
  return words.length === 0 ? 'open' : words.join(',');
}

function mustParseQueue(text: string): QueuePolicy {
  let queue = openQueue;
  for (const word of text.split(',')) {
    const [name, value] = word.split(':');
    if (name === 'max') queue = { ...queue, requestsMax: Number(value) };
    else if (name === 'timeout-ms') queue = { ...queue, timeoutMs: Number(value) };
    else if (name === 'delay') queue = { ...queue, timeoutAction: 'delay' };
    else if (name === 'override') queue = { ...queue, allowsTimeoutOverride: true };
    else if (name !== 'open') throw new Error(`no such word of a queue: "${word}"`);
  }
  return queue;
}
