import { expect, test } from 'vitest';
import { defaultSchedulerConfig, resolveSchedulerConfig } from './scheduler-config.ts';

test('without options every limit has its default', () => {
  expect(resolveSchedulerConfig({})).toEqual(defaultSchedulerConfig);
});

test('an option replaces its default and leaves the others, also inside a policy', () => {
  const config = resolveSchedulerConfig({ lookAheadMax: 7, retry: { requeuesMax: 0 } });
  expect(config).toEqual({
    ...defaultSchedulerConfig,
    lookAheadMax: 7,
    retry: { ...defaultSchedulerConfig.retry, requeuesMax: 0 },
  });
  expect(Object.isFrozen(config)).toBe(true);
  expect(Object.isFrozen(config.retry)).toBe(true);
});

test.each([
  { waitingRequestsMax: 0 },
  { waitingBytesMax: 0 },
  { lookAheadMax: 0 },
  { modelsMax: 0 },
  { workersMax: 0 },
  { batchesPerWorkerMax: 0 },
  { lookAheadMax: Number.NaN },
  { retry: { deathsMax: 0 } },
  { retry: { killsMax: 0 } },
  { retry: { requeuesMax: -1 } },
  { callerRequestsMax: 0 },
  { breaker: { consecutiveMax: 0 } },
  { breaker: { halfLifeMs: 0 } },
  { breaker: { peersFactor: 0 } },
  { breaker: { openMs: 0 } },
  { breaker: { openMs: 2, openMsMax: 1 } },
])('a limit that could never work is a defect of the caller: %j', (options) => {
  expect(() => resolveSchedulerConfig(options)).toThrow('invariant broken');
});
