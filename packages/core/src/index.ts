export * from './event-text.ts';
export * from './events.ts';
export * from './model-policy.ts';
export * from './restart-policy.ts';
export { defaultRetryPolicy, type RetryPolicy } from './scheduler/retry-policy.ts';
export { Scheduler, type SchedulerCounts } from './scheduler/scheduler.ts';
export {
  defaultSchedulerConfig,
  resolveSchedulerConfig,
  type SchedulerConfig,
  type SchedulerOptions,
} from './scheduler/scheduler-config.ts';
export { defaultHealthPolicy, type HealthPolicy } from './scheduler/worker-health.ts';
