import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type BreakerPolicy, CircuitBreaker, defaultBreakerPolicy } from './circuit-breaker.ts';

const policy: BreakerPolicy = { ...defaultBreakerPolicy, consecutiveMax: 3, openMs: 100, openMsMax: 350 };

/** Opens it by failing where its peers do well. */
function opened(nowMs: number, breaker = new CircuitBreaker(policy)): CircuitBreaker {
  for (let failure = 0; failure < policy.consecutiveMax; failure++) breaker.noteFailure(0, nowMs, nowMs);
  return breaker;
}

test('it is closed until consecutiveMax batches have failed in a row', () => {
  const breaker = new CircuitBreaker(policy);
  breaker.noteFailure(0, 0, 0);
  breaker.noteFailure(0, 0, 0);
  expect(breaker.stateAt(0)).toBe('closed');
  breaker.noteFailure(0, 0, 0);
  expect(breaker.stateAt(0)).toBe('open');
  expect(breaker.takesWorkAt(99)).toBe(false);
});

test('an answer in between resets the count', () => {
  const breaker = new CircuitBreaker(policy);
  for (let time = 0; time < 8; time++) {
    breaker.noteFailure(0, time, time);
    breaker.noteSuccess(time, time);
    breaker.noteSuccess(time, time);
  }
  expect(breaker.stateAt(8)).toBe('closed');
});

test('so does a share of failures that is too large, once there are enough batches to tell', () => {
  const breaker = new CircuitBreaker(policy);
  for (let batch = 1; batch < policy.batchesMin; batch++) {
    if (batch % 2 === 0) breaker.noteSuccess(0, 0);
    else breaker.noteFailure(0, 0, 0);
  }
  expect(breaker.stateAt(0)).toBe('closed');
  breaker.noteSuccess(0, 0);
  breaker.noteFailure(0, 0, 0);
  expect(breaker.stateAt(0)).toBe('open');
});

test('requests that fail everywhere open nothing, however many there are', () => {
  const breaker = new CircuitBreaker(policy);
  for (let failure = 0; failure < 100; failure++) breaker.noteFailure(0.8, failure, failure);
  expect(breaker.stateAt(100)).toBe('closed');
});

test('an instance whose peers ran nothing is not blamed', () => {
  const breaker = new CircuitBreaker(policy);
  for (let failure = 0; failure < 100; failure++) breaker.noteFailure(undefined, failure, failure);
  expect(breaker.stateAt(100)).toBe('closed');
});

test('after its time it is half-open and takes one batch; an answer closes it', () => {
  const breaker = opened(0);
  expect(breaker.halfOpenAt).toBe(100);
  expect(breaker.stateAt(100)).toBe('half-open');
  expect(breaker.takesWorkAt(100)).toBe(true);
  breaker.noteDispatch(100);
  expect(breaker.takesWorkAt(100)).toBe(false);
  expect(breaker.stateAt(100)).toBe('half-open');
  breaker.noteSuccess(100, 105);
  expect(breaker.stateAt(105)).toBe('closed');
  expect(breaker.takesWorkAt(105)).toBe(true);
});

test('a failed trial opens it for twice as long, up to the maximum', () => {
  const breaker = opened(0);
  const openTimes: number[] = [];
  for (let trial = 0; trial < 4; trial++) {
    const now = breaker.halfOpenAt;
    breaker.noteDispatch(now);
    breaker.noteFailure(0, now, now);
    openTimes.push(breaker.halfOpenAt - now);
  }
  expect(openTimes).toEqual([200, 350, 350, 350]);
});

test('a trial without a result is repeated', () => {
  const breaker = opened(0);
  breaker.noteDispatch(100);
  breaker.noteNothing(100);
  expect(breaker.takesWorkAt(101)).toBe(true);
});

test('a trial that failed for a reason that all share does not count against it', () => {
  const breaker = opened(0);
  breaker.noteDispatch(100);
  breaker.noteFailure(0.9, 110, 110);
  expect(breaker.stateAt(110)).toBe('half-open');
  expect(breaker.takesWorkAt(110)).toBe(true);
});

test('the answer to a batch from before it opened does not close it, one from after does', () => {
  const breaker = opened(50);
  breaker.noteSuccess(49, 60);
  expect(breaker.stateAt(60)).toBe('open');
  // All instances were open, so it was given work all the same.
  breaker.noteSuccess(55, 61);
  expect(breaker.stateAt(61)).toBe('closed');
});

test('a batch from before it opened does not end the trial, however it ends', () => {
  const breaker = opened(50);
  breaker.noteDispatch(150);
  breaker.noteFailure(0, 49, 160);
  breaker.noteNothing(49);
  breaker.noteSuccess(49, 160);
  expect(breaker.stateAt(160)).toBe('half-open');
  expect(breaker.takesWorkAt(160)).toBe(false);
});

test('opening again soon after it closed lasts longer, long after it does not', () => {
  const breaker = opened(0);
  breaker.close(150);
  opened(200, breaker);
  expect(breaker.halfOpenAt).toBe(400);
  breaker.close(500);
  opened(500 + policy.openMsMax, breaker);
  expect(breaker.halfOpenAt).toBe(500 + policy.openMsMax + policy.openMs);
});

test('an operator may close it at any time, and its counts are reset', () => {
  const breaker = opened(0);
  breaker.close(10);
  breaker.noteFailure(0, 11, 11);
  breaker.noteFailure(0, 11, 11);
  expect(breaker.stateAt(11)).toBe('closed');
});

test('whatever happens, an open one is half-open within the maximum, and at most one trial is in flight', () => {
  const step = fc.constantFrom('success', 'failure', 'nothing', 'dispatch', 'wait');
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const breaker = new CircuitBreaker(policy);
      let now = 0;
      for (const what of steps) {
        if (what === 'success') breaker.noteSuccess(now, now);
        else if (what === 'failure') breaker.noteFailure(0, now, now);
        else if (what === 'nothing') breaker.noteNothing(now);
        else if (what === 'wait') now += 40;
        else if (breaker.takesWorkAt(now)) {
          breaker.noteDispatch(now);
          expect(breaker.takesWorkAt(now)).toBe(breaker.isClosed);
        }
        expect(breaker.halfOpenAt - now).toBeLessThanOrEqual(policy.openMsMax);
        expect(breaker.isClosed).toBe(breaker.stateAt(now) === 'closed');
      }
    }),
    { seed: 31, numRuns: 300 },
  );
});
