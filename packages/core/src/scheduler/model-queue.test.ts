import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resolveModelPolicy } from '../model-policy.ts';
import { ModelEntry } from './model-entry.ts';
import { ModelQueue } from './model-queue.ts';
import { RequestEntry } from './request-entry.ts';

const policy = resolveModelPolicy({ rowsMax: 8, queueRequestsMax: 10, queueBytesMax: 100, runMsMax: 1000 });
const model = new ModelEntry('mlp', policy);

function entryOf(arrival: number): RequestEntry {
  const arrived = {
    request: arrival,
    model: 'mlp',
    rows: 1,
    bytes: 10,
    group: 'a',
    deadlineAt: Infinity,
    caller: '',
    priority: 0,
    queueTimeoutMs: Infinity,
  };
  return new RequestEntry(arrived, model, arrival);
}

function arrivalsIn(queue: ModelQueue): number[] {
  const forwards: RequestEntry[] = [];
  for (let entry = queue.oldest; entry !== undefined; entry = entry.younger) forwards.push(entry);
  const backwards: RequestEntry[] = [];
  for (let entry = forwards.at(-1); entry !== undefined; entry = entry.older) backwards.push(entry);
  expect(backwards.reverse()).toEqual(forwards);
  return forwards.map((entry) => entry.arrival);
}

test('whatever comes, leaves and comes back, the queue is in order of arrival and its counts are right', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('append' as const) }),
    fc.record({ kind: fc.constant('take' as const), share: fc.array(fc.boolean(), { minLength: 1, maxLength: 8 }) }),
    fc.record({ kind: fc.constant('put-back' as const), index: fc.nat() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new ModelQueue();
      const waiting = new Set<RequestEntry>();
      const taken: RequestEntry[][] = [];
      let arrival = 0;
      for (const { kind, ...rest } of steps) {
        if (kind === 'append') {
          arrival += 1;
          const entry = entryOf(arrival);
          queue.append(entry);
          waiting.add(entry);
        } else if ('share' in rest) {
          const group = [...waiting].filter((_, index) => rest.share[index % rest.share.length]);
          for (const entry of group) {
            queue.remove(entry);
            waiting.delete(entry);
          }
          taken.push(group.sort((left, right) => left.arrival - right.arrival));
        } else if ('index' in rest && taken.length > 0) {
          const [group = []] = taken.splice(rest.index % taken.length, 1);
          queue.putBack(group);
          for (const entry of group) waiting.add(entry);
        }
        const expected = [...waiting].map((entry) => entry.arrival).sort((left, right) => left - right);
        expect(arrivalsIn(queue)).toEqual(expected);
        expect([queue.requestCount, queue.byteCount]).toEqual([waiting.size, 10 * waiting.size]);
      }
    }),
    { seed: 1, numRuns: 200 },
  );
});

test('a request cannot be queued twice, nor leave twice', () => {
  const queue = new ModelQueue();
  const entry = entryOf(1);
  queue.append(entry);
  expect(() => queue.putBack([entry])).toThrow('invariant broken');
  queue.remove(entry);
  expect(() => queue.remove(entry)).toThrow('invariant broken');
});

test('an older request cannot be appended behind a younger one', () => {
  const queue = new ModelQueue();
  queue.append(entryOf(2));
  expect(() => queue.append(entryOf(1))).toThrow('order of arrival');
});
