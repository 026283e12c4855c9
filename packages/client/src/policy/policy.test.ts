/** Decisions after failures: pure, so that every number below is exact. */
import { type ErrorCode, errorCatalogue } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { MillraceError, unreachable } from '../errors/millrace-error.ts';
import { circuitFailuresMax, EndpointSet } from './endpoint-set.ts';
import { type FailedAttempt, retryDecision } from './retry-decision.ts';
import { RetryThrottle } from './retry-throttle.ts';
import { compileServiceConfig, defaultServiceConfig, type MethodConfig } from './service-config.ts';

const service = 'inference.GRPCInferenceService';
const retryPolicy = { maxAttempts: 4, initialBackoff: '0.1s', maxBackoff: '0.3s', backoffMultiplier: 2 };

function policyOf(entry: Omit<MethodConfig, 'name'>) {
  return compileServiceConfig({ methodConfig: [{ name: [{}], ...entry }] }).policyOf(service, 'ModelInfer');
}

function failed(error: MillraceError, changes: Partial<FailedAttempt> = {}): FailedAttempt {
  const rest = { nowMs: 1000, deadlineMs: Number.POSITIVE_INFINITY, isThrottled: false };
  return { error, attempts: 1, isRepeatable: true, ...rest, ...changes };
}

const full = new MillraceError('model-full', 'full');

describe('service config', () => {
  test('the most specific name counts', () => {
    const named = (name: MethodConfig['name'], timeout: string): MethodConfig => ({ name, timeout });
    const config = compileServiceConfig({
      methodConfig: [named([{}], '1s'), named([{ service }], '2s'), named([{ service, method: 'ModelInfer' }], '3.5s')],
    });
    expect(config.policyOf(service, 'ModelInfer').timeoutMs).toBe(3500);
    expect(config.policyOf(service, 'ModelReady').timeoutMs).toBe(2000);
    expect(config.policyOf('millrace.v1.InferenceService', 'Stream').timeoutMs).toBe(1000);
  });

  test('all problems are named at once', () => {
    expect(() =>
      compileServiceConfig({
        methodConfig: [
          { name: [{ method: 'ModelInfer' }], timeout: '100ms' },
          { name: [{}], retryPolicy: { ...retryPolicy, maxAttempts: 1, backoffMultiplier: 0 } },
          { name: [{}], retryPolicy, hedgingPolicy: { maxAttempts: 2, hedgingDelay: '-1s' } },
          { name: [{ service }], retryPolicy: { ...retryPolicy, retryableStatusCodes: ['BROKEN' as 'ABORTED'] } },
        ],
        retryThrottling: { maxTokens: 2000, tokenRatio: 0 },
      }),
    ).toThrow(
      'the service config is wrong: methodConfig[0].timeout is "100ms"; write a number of seconds above 0, such as "0.5s"; ' +
        'methodConfig[0].name: method ModelInfer has no service; ' +
        'methodConfig[1].retryPolicy.backoffMultiplier must be above 0; ' +
        'methodConfig[1].retryPolicy.maxAttempts is 1; it must be an integer of at least 2; ' +
        'methodConfig[2] has a retryPolicy and a hedgingPolicy; a method has one of them; ' +
        'methodConfig[2].hedgingPolicy.hedgingDelay is "-1s"; write a number of seconds, such as "0.5s"; ' +
        'methodConfig[2].name: / is configured twice; ' +
        'methodConfig[3].retryPolicy.retryableStatusCodes: "BROKEN" is no status of gRPC; ' +
        'retryThrottling.maxTokens is 2000; it must be above 0 and at most 1000; ' +
        'retryThrottling.tokenRatio is 0; it must be above 0',
    );
  });

  test('no call is sent more than five times, and the last error says why', () => {
    const policy = policyOf({ retryPolicy: { ...retryPolicy, maxAttempts: 50 } });
    expect(policy.attemptsMax).toBe(5);
    expect(retryDecision(policy, failed(full, { attempts: 5 }), 0.5)).toEqual({
      kind: 'give-up',
      why: 'after 5 attempts, not 50: the limit of gRPC',
    });
    const five = policyOf({ retryPolicy: { ...retryPolicy, maxAttempts: 5 } });
    expect(retryDecision(five, failed(full, { attempts: 5 }), 0.5)).toEqual({
      kind: 'give-up',
      why: 'after 5 attempts',
    });
    expect(compileServiceConfig({}).policyOf(service, 'ModelInfer').attemptsMax).toBe(1);
    expect(compileServiceConfig(defaultServiceConfig).policyOf(service, 'ModelInfer').attemptsMax).toBe(4);
  });
});

describe('retry', () => {
  const policy = policyOf({ retryPolicy });

  test('exactly the errors that the catalogue allows are repeated', () => {
    for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
      const { kind } = retryDecision(policy, failed(new MillraceError(code, '')), 0.5);
      const advice = errorCatalogue[code].retry;
      expect([code, kind]).toEqual([code, advice === 'after-backoff' ? 'retry' : 'give-up']);
    }
  });

  test('pauses grow by the multiplier up to the maximum, with a fifth of jitter', () => {
    const pause = (attempts: number, random: number): number => {
      const decision = retryDecision(policy, failed(full, { attempts }), random);
      return decision.kind === 'retry' ? Math.round(decision.atMs - 1000) : -1;
    };
    expect([pause(1, 0.5), pause(2, 0.5), pause(3, 0.5), pause(4, 0.5)]).toEqual([100, 200, 300, -1]);
    expect([pause(1, 0), pause(1, 1)]).toEqual([80, 120]);
  });

  test('the server decides the pause where it names one', () => {
    const error = new MillraceError('server-full', '', { retryAfterMs: 2500 });
    expect(retryDecision(policy, failed(error), 0.5)).toMatchObject({ kind: 'retry', atMs: 3500 });
  });

  test('a pause that ends after the deadline is not begun', () => {
    expect(retryDecision(policy, failed(full, { deadlineMs: 1100 }), 0.5)).toMatchObject({ kind: 'give-up' });
    expect(retryDecision(policy, failed(full, { deadlineMs: 1101 }), 0.5)).toMatchObject({ kind: 'retry' });
  });

  test('what may have run is not repeated where it must not run twice; what no server has seen is', () => {
    const [seen, unseen] = [unreachable('lost', true), unreachable('refused', false)];
    expect(retryDecision(policy, failed(seen, { isRepeatable: false }), 0.5).kind).toBe('give-up');
    expect(retryDecision(policy, failed(seen), 0.5).kind).toBe('retry');
    expect(retryDecision(policy, failed(unseen, { isRepeatable: false }), 0.5).kind).toBe('retry');
  });

  test('a policy narrows the catalogue, and cannot widen it', () => {
    const narrow = policyOf({
      retryPolicy: { ...retryPolicy, retryableStatusCodes: ['RESOURCE_EXHAUSTED', 'NOT_FOUND'] },
    });
    expect(retryDecision(narrow, failed(full), 0.5).kind).toBe('give-up');
    expect(retryDecision(narrow, failed(new MillraceError('caller-full', '')), 0.5).kind).toBe('retry');
    expect(retryDecision(narrow, failed(new MillraceError('unknown-model', '')), 0.5).kind).toBe('give-up');
  });

  test('waiting for a server costs no attempt, and ends with the deadline', () => {
    const waiting = policyOf({ waitForReady: true });
    const refused = unreachable('refused', false);
    expect(retryDecision(waiting, failed(refused, { attempts: 9 }), 0.5)).toMatchObject({
      kind: 'retry',
      counts: false,
    });
    expect(retryDecision(waiting, failed(refused, { deadlineMs: 1050 }), 0.5).kind).toBe('give-up');
    expect(retryDecision(waiting, failed(unreachable('lost', true)), 0.5).kind).toBe('give-up');
  });
});

test('retries are throttled while more than half of the tokens are gone', () => {
  const throttle = new RetryThrottle({ tokensMax: 10, tokenRatio: 0.5 });
  for (let count = 0; count < 4; count++) throttle.onFailure();
  expect(throttle.isOpen).toBe(true);
  throttle.onFailure();
  expect(throttle.isOpen).toBe(false);
  throttle.onSuccess();
  expect(throttle.isOpen).toBe(true);
  for (let count = 0; count < 99; count++) throttle.onFailure();
  for (let count = 0; count < 10; count++) throttle.onSuccess();
  expect(throttle.isOpen).toBe(false);
  expect(retryDecision(policyOf({ retryPolicy }), failed(full, { isThrottled: true }), 0.5)).toEqual({
    kind: 'give-up',
    why: 'too many calls fail; retries are throttled',
  });
});

describe('endpoints', () => {
  const failing = (set: EndpointSet, index: number, times: number, nowMs: number): void => {
    for (let count = 0; count < times; count++) set.onFailure(index, nowMs, 0.5);
  };

  test('the first that is well takes everything', () => {
    const set = new EndpointSet(3);
    expect(set.choose(0)).toBe(0);
    failing(set, 0, circuitFailuresMax - 1, 0);
    expect(set.choose(0)).toBe(0);
    failing(set, 0, 1, 0);
    expect(set.choose(0)).toBe(1);
  });

  test('an answer closes the count of failures', () => {
    const set = new EndpointSet(2);
    failing(set, 0, circuitFailuresMax - 1, 0);
    set.onAnswer(0);
    failing(set, 0, circuitFailuresMax - 1, 0);
    expect(set.choose(0)).toBe(0);
  });

  test('one that was given up comes back by a check, which is asked for once, after pauses that double', () => {
    const set = new EndpointSet(2);
    failing(set, 0, circuitFailuresMax, 0);
    expect(set.nextCheckAtMs()).toBe(500);
    expect(set.takeChecks(499)).toEqual([]);
    expect(set.takeChecks(500)).toEqual([0]);
    expect(set.takeChecks(500)).toEqual([]);
    set.onChecked(0, false, 500, 0.5);
    expect(set.nextCheckAtMs()).toBe(1500);
    expect(set.choose(1500)).toBe(1);
    expect(set.takeChecks(1500)).toEqual([0]);
    set.onChecked(0, true, 1510, 0.5);
    expect(set.choose(1510)).toBe(0);
    expect(set.nextCheckAtMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test('a server that drains is avoided while another is well', () => {
    const set = new EndpointSet(2);
    set.onDraining(0, 0);
    expect([set.choose(1), set.choose(5001)]).toEqual([1, 0]);
    failing(set, 1, circuitFailuresMax, 1);
    expect(set.choose(1)).toBe(0);
  });

  test('a retry goes elsewhere, and to the same one where there is no other', () => {
    expect(new EndpointSet(2).choose(0, 0)).toBe(1);
    expect(new EndpointSet(1).choose(0, 0)).toBe(0);
  });

  test('the only one is used whatever it did, and never checked', () => {
    const set = new EndpointSet(1);
    failing(set, 0, 99, 0);
    expect(set.choose(0)).toBe(0);
    expect(set.nextCheckAtMs()).toBe(Number.POSITIVE_INFINITY);
    expect(set.takeChecks(1e9)).toEqual([]);
  });

  test('where all have failed the one that is tried again first is used', () => {
    const set = new EndpointSet(2);
    failing(set, 0, circuitFailuresMax, 100);
    failing(set, 1, circuitFailuresMax, 0);
    expect(set.choose(100)).toBe(1);
  });
});
