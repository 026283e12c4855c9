import { assert } from '../assert.ts';
import { type BreakerPolicy, defaultBreakerPolicy } from './instances/circuit-breaker.ts';
import { defaultRetryPolicy, type RetryPolicy } from './retries/retry-policy.ts';

export interface SchedulerConfig {
  /** Requests that may wait in the queues of all models together. */
  readonly waitingRequestsMax: number;
  /** Requests of one caller that may wait in the queues of all models together. */
  readonly callerRequestsMax: number;
  /** Bytes of inputs that may wait in the queues of all models together. */
  readonly waitingBytesMax: number;
  /** Requests of one queue that are checked to fill a batch. */
  readonly lookAheadMax: number;
  /**
   * Worker time, in milliseconds, that a model of weight 1 may use before others that want the same workers get theirs.
   */
  readonly modelQuantumMs: number;
  readonly modelsMax: number;
  readonly workersMax: number;
  /** A worker that offers more credit gets this many: further batches would only wait there instead of here. */
  readonly batchesPerWorkerMax: number;
  readonly retry: RetryPolicy;
  readonly breaker: BreakerPolicy;
}

export interface SchedulerOptions extends Partial<Omit<SchedulerConfig, 'retry' | 'breaker'>> {
  readonly retry?: Partial<RetryPolicy>;
  readonly breaker?: Partial<BreakerPolicy>;
}

export const defaultSchedulerConfig: SchedulerConfig = Object.freeze({
  waitingRequestsMax: 65_536,
  callerRequestsMax: 16_384,
  waitingBytesMax: 1024 ** 3,
  lookAheadMax: 256,
  modelQuantumMs: 10,
  modelsMax: 16_384,
  workersMax: 4_096,
  batchesPerWorkerMax: 256,
  retry: defaultRetryPolicy,
  breaker: defaultBreakerPolicy,
});

export function resolveSchedulerConfig(options: SchedulerOptions): SchedulerConfig {
  const config: SchedulerConfig = Object.freeze({
    ...defaultSchedulerConfig,
    ...options,
    retry: Object.freeze({ ...defaultRetryPolicy, ...options.retry }),
    breaker: Object.freeze({ ...defaultBreakerPolicy, ...options.breaker }),
  });
  assert(config.waitingRequestsMax >= 1, 'waitingRequestsMax is at least 1');
  assert(config.callerRequestsMax >= 1, 'callerRequestsMax is at least 1');
  assert(config.waitingBytesMax >= 1, 'waitingBytesMax is at least 1');
  assert(config.lookAheadMax >= 1, 'lookAheadMax is at least 1');
  assert(config.modelQuantumMs > 0, 'modelQuantumMs is above 0');
  assert(config.modelsMax >= 1, 'modelsMax is at least 1');
  assert(config.workersMax >= 1, 'workersMax is at least 1');
  assert(config.batchesPerWorkerMax >= 1, 'batchesPerWorkerMax is at least 1');
  assert(config.retry.deathsMax >= 1, 'retry.deathsMax is at least 1');
  assert(config.retry.killsMax >= 1, 'retry.killsMax is at least 1');
  assert(config.retry.requeuesMax >= 0, 'retry.requeuesMax is at least 0');
  const { consecutiveMax, halfLifeMs, peersFactor, openMs, openMsMax } = config.breaker;
  assert(consecutiveMax >= 1, 'breaker.consecutiveMax is at least 1');
  assert(halfLifeMs > 0 && peersFactor >= 1, 'breaker.halfLifeMs is above 0, breaker.peersFactor at least 1');
  assert(openMs > 0 && openMsMax >= openMs, 'breaker.openMs is above 0 and within breaker.openMsMax');
  return config;
}
