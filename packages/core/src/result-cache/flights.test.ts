import { errorCatalogue } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Flights } from './flights.ts';
import { isSharedFailure } from './shared-failure.ts';

const roomy = { followersMax: 100, followerBytesMax: 10_000 };

test('the first of identical requests leads, the others follow, and all get the answer in order', () => {
  const flights = new Flights<string>(roomy);
  expect(flights.join('k', 'first', 10)).toBe('lead');
  expect(flights.join('k', 'second', 10)).toBe('follow');
  expect(flights.join('other', 'third', 10)).toBe('lead');
  expect(flights.answered('k')).toEqual(['first', 'second']);
  expect(flights).toMatchObject({ size: 1, followers: 0, followerBytes: 0 });
});

test('when a leader disconnects the run continues for the others; the last one ends the flight', () => {
  const flights = new Flights<string>(roomy);
  flights.join('k', 'leader', 10);
  flights.join('k', 'follower', 10);
  expect(flights.leave('k', 'leader')).toBe(false);
  expect(flights.leave('k', 'follower')).toBe(true);
  expect(flights.join('k', 'later', 10)).toBe('lead');
});

test('a failure caused by the request itself goes to everyone', () => {
  const flights = new Flights<string>(roomy);
  flights.join('k', 'leader', 10);
  flights.join('k', 'follower', 10);
  expect(flights.failed('k', true)).toEqual({ told: ['leader', 'follower'], next: undefined });
  expect(flights.size).toBe(0);
});

test('any other failure goes to the leader, and the oldest of the others leads', () => {
  const flights = new Flights<string>(roomy);
  for (const waiter of ['leader', 'second', 'third']) flights.join('k', waiter, 10);
  expect(flights.failed('k', false)).toEqual({ told: ['leader'], next: 'second' });
  expect(flights.followers).toBe(1);
  expect(flights.failed('k', false)).toEqual({ told: ['second'], next: 'third' });
  expect(flights.failed('k', false)).toEqual({ told: ['third'], next: undefined });
  expect(flights.size).toBe(0);
});

test('when the leader has gone, its failure is nobody else\u2019s: the next one is tried', () => {
  const flights = new Flights<string>(roomy);
  flights.join('k', 'leader', 10);
  flights.join('k', 'follower', 10);
  flights.leave('k', 'leader');
  expect(flights.failed('k', false)).toEqual({ told: [], next: 'follower' });
});

test('more followers than the limit, or more of their bytes, are run alone', () => {
  const byCount = new Flights<string>({ followersMax: 1, followerBytesMax: 1000 });
  expect(['a', 'b', 'c'].map((waiter) => byCount.join('k', waiter, 10))).toEqual(['lead', 'follow', 'alone']);
  byCount.leave('k', 'b');
  expect(byCount.join('k', 'd', 10)).toBe('follow');
  const byBytes = new Flights<string>({ followersMax: 10, followerBytesMax: 15 });
  expect(['a', 'b', 'c'].map((waiter) => byBytes.join('k', waiter, 10))).toEqual(['lead', 'follow', 'alone']);
});

test('failures caused by a caller or by load are not shared', () => {
  const shared = Object.keys(errorCatalogue).filter((code) => isSharedFailure(code as keyof typeof errorCatalogue));
  expect(new Set(shared)).toEqual(
    new Set([
      'inference-failed',
      'invalid-request',
      'model-not-ready',
      'poison-request',
      'run-time-limit',
      'unsupported',
    ]),
  );
});

test('everyone who joined is told exactly once or leaves, and the counts of followers are right', () => {
  const key = fc.constantFrom('k', 'l');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('join' as const), key, bytes: fc.nat(50) }),
    fc.record({ kind: fc.constant('leave' as const), key, index: fc.nat() }),
    fc.record({ kind: fc.constant('answered' as const), key }),
    fc.record({ kind: fc.constant('failed' as const), key, isAboutRequest: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const limits = { followersMax: 5, followerBytesMax: 120 };
      const flights = new Flights<number>(limits);
      const waiting = new Map<number, { key: string; bytes: number }>();
      const leaders = new Map<string, number>();
      const at = (wanted: string): number[] => [...waiting].filter(([, { key }]) => key === wanted).map(([id]) => id);
      let last = 0;
      for (const taken of steps) {
        const there = at(taken.key);
        if (taken.kind === 'join') {
          last += 1;
          const joined = flights.join(taken.key, last, taken.bytes);
          expect(joined === 'lead').toBe(there.length === 0);
          if (joined === 'lead') leaders.set(taken.key, last);
          if (joined !== 'alone') waiting.set(last, { key: taken.key, bytes: taken.bytes });
        } else if (there.length > 0) {
          let told: readonly number[] = [];
          if (taken.kind === 'leave') {
            const leaver = there[taken.index % there.length] as number;
            expect(flights.leave(taken.key, leaver)).toBe(there.length === 1);
            told = [leaver];
          } else if (taken.kind === 'answered') {
            told = flights.answered(taken.key);
            expect(told).toEqual(there);
          } else {
            const failed = flights.failed(taken.key, taken.isAboutRequest);
            told = failed.told;
            const rest = there.filter((waiter) => !told.includes(waiter));
            expect(failed.next).toBe(rest[0]);
            if (!taken.isAboutRequest) expect(told).toEqual(there.filter((id) => id === leaders.get(taken.key)));
            if (failed.next !== undefined) leaders.set(taken.key, failed.next);
          }
          for (const waiter of told) expect(waiting.delete(waiter)).toBe(true);
        }
        const followers = [...waiting].filter(([id, { key }]) => leaders.get(key) !== id);
        expect(flights.followers).toBe(followers.length);
        expect(flights.followerBytes).toBe(followers.reduce((sum, [, { bytes }]) => sum + bytes, 0));
        expect(flights.followers).toBeLessThanOrEqual(limits.followersMax);
        expect(flights.size).toBe(new Set([...waiting.values()].map(({ key }) => key)).size);
      }
    }),
    { seed: 37, numRuns: 400 },
  );
});
