import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatEvent } from './event-text.ts';
import type { SchedulerEvent } from './events.ts';
import { resolveModelPolicy } from './model-policy.ts';
import { mustParseEvent } from './testing/parse-event.ts';

const id = fc.nat();
const name = fc.constantFrom('mlp:1', 'resnet-50:2', 'bert');
const limit = fc.oneof(fc.integer({ min: 1 }), fc.constant(Number.POSITIVE_INFINITY));

const queue = fc.record({
  requestsMax: limit,
  timeoutMs: limit,
  timeoutAction: fc.constantFrom('refuse' as const, 'delay' as const),
  allowsTimeoutOverride: fc.boolean(),
});

const event: fc.Arbitrary<SchedulerEvent> = fc.oneof(
  fc.record({
    kind: fc.constant('model-added' as const),
    model: name,
    policy: fc
      .record({
        rowsMax: limit,
        queueRequestsMax: limit,
        queueBytesMax: limit,
        runMsMax: limit,
        preferredRows: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
        delayMs: fc.constantFrom(0, 0.5, 20),
        isOrdered: fc.boolean(),
        queues: fc.array(queue, { minLength: 1, maxLength: 3 }),
        waitMsMax: limit,
        weight: fc.constantFrom(1, 2.5),
        isConcurrent: fc.boolean(),
      })
      .map(resolveModelPolicy),
  }),
  fc.record({ kind: fc.constantFrom('model-removed' as const, 'model-retired' as const), model: name }),
  fc.record({ kind: fc.constant('worker-credit' as const), worker: id, batchesMax: id }),
  fc.record({ kind: fc.constant('worker-serves' as const), worker: id, model: name, priorityMax: limit }),
  fc.record({ kind: fc.constant('worker-unserves' as const), worker: id, model: name }),
  fc.record({ kind: fc.constant('worker-gone' as const), worker: id, isKilled: fc.boolean() }),
  fc.record({
    kind: fc.constant('request-arrived' as const),
    request: fc.record({
      request: id,
      model: name,
      rows: id,
      bytes: id,
      group: name,
      deadlineAt: limit,
      caller: fc.constantFrom('', 'ann'),
      priority: id,
      queueTimeoutMs: limit,
      isAlone: fc.boolean(),
    }),
  }),
  fc.record({
    kind: fc.constant('request-cancelled' as const),
    request: id,
    reason: fc.constantFrom('cancelled' as const, 'deadline-exceeded' as const),
  }),
  fc.record({ kind: fc.constant('batch-answered' as const), batch: id }),
  fc.record({
    kind: fc.constant('batch-failed' as const),
    batch: id,
    code: fc.constantFrom('inference-failed' as const, 'cancelled' as const, 'unknown-model' as const),
    message: fc.constantFrom('shape mismatch', 'node Conv_3: out of memory', ''),
  }),
  fc.record({ kind: fc.constantFrom('drain-started' as const, 'tick' as const) }),
);

test('an event written as text reads back as the same event', () => {
  fc.assert(
    fc.property(event, (original) => {
      expect(mustParseEvent(formatEvent(original))).toEqual(original);
    }),
    { seed: 1, numRuns: 500 },
  );
});
