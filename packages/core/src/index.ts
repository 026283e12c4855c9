export { AdaptiveBatching, serviceShare } from './adaptive/adaptive-batching.ts';
export * from './ensemble/ensemble-plan.ts';
export * from './ensemble/ensemble-run.ts';
export * from './ensemble/inflight-gate.ts';
export * from './event-text.ts';
export * from './events.ts';
export { type IndexedEntry, IndexedHeap } from './indexed-heap.ts';
export { defaultGroupConfig, type GroupConfig } from './life-cycle/group-config.ts';
export * from './life-cycle/group-events.ts';
export { GroupKeeper } from './life-cycle/group-keeper.ts';
export { Keeper } from './life-cycle/keeper.ts';
export { defaultKeeperConfig, type KeeperConfig } from './life-cycle/keeper-config.ts';
export * from './life-cycle/keeper-events.ts';
export {
  defaultStandbyConfig,
  type StandbyAction,
  type StandbyConfig,
  type StandbyEvent,
  StandbyKeeper,
} from './life-cycle/standby-keeper.ts';
export type { VersionName, VersionState, VersionStatus } from './life-cycle/version-status.ts';
export type { UnreadableVersion } from './life-cycle/version-table.ts';
export * from './memory/answer-holdings.ts';
export {
  type MemoryLimits,
  type MemoryOptions,
  memoryBytesMaxDefault,
  memoryBytesMinFor,
  resolveMemoryLimits,
} from './memory/memory-config.ts';
export type { LedgerHolder, LedgerLease, LedgerVerdict } from './memory/memory-lease.ts';
export { MemoryLedger } from './memory/memory-ledger.ts';
export { LedgerConnection } from './memory/memory-owner.ts';
export * from './model-policy.ts';
export { LoopPolling, type LoopPollingLimits, type PolledWait } from './polling/loop-polling.ts';
export * from './restart-policy.ts';
export { type FailedFlight, type FlightLimits, Flights } from './result-cache/flights.ts';
export { isSharedFailure } from './result-cache/shared-failure.ts';
export { entryOverheadBytes, StoredResults, type StoredResultsLimits } from './result-cache/stored-results.ts';
export { type BreakerPolicy, type BreakerState, defaultBreakerPolicy } from './scheduler/instances/circuit-breaker.ts';
export { defaultRetryPolicy, type RetryPolicy } from './scheduler/retries/retry-policy.ts';
export { Scheduler, type SchedulerCounts } from './scheduler/scheduler.ts';
export {
  defaultSchedulerConfig,
  resolveSchedulerConfig,
  type SchedulerConfig,
  type SchedulerOptions,
} from './scheduler/scheduler-config.ts';
export type { InstanceSnapshot, QueueSnapshot } from './scheduler/snapshots.ts';
export type { SequencePolicy } from './sequences/sequence-policy.ts';
export { Sequencer, type SequencerCounts } from './sequences/sequencer.ts';
export * from './sequences/sequencer-events.ts';
export { chooseSharedWorker } from './sharing/shared-worker-choice.ts';
export { defaultSharingPolicy, resolveSharingPolicy, type SharingPolicy } from './sharing/sharing-policy.ts';
export { type ContentId, type RunsMeasured, SmallModels } from './sharing/small-models.ts';
export { type OpenDecision, type OpenedStream, type OpenRequest, openDecisionOf } from './streams/open-decision.ts';
export { type RestoredStream, restoredStreamFrom } from './streams/restored-stream.ts';
export * from './streams/stream-entries.ts';
export type { StreamError, StreamErrorCode } from './streams/stream-errors.ts';
export { StreamMachine, type StreamMachineCounts, type StreamMachineOptions } from './streams/stream-machine.ts';
export {
  defaultStreamMachineConfig,
  type LateInputPolicy,
  resolveStreamMachineConfig,
  type StreamMachineConfig,
  type StreamModelKind,
} from './streams/stream-machine-config.ts';
export * from './streams/stream-machine-events.ts';
export { StreamWindow, type StreamWindowLimits, type WindowEntry, type WindowOutput } from './streams/stream-window.ts';
export { type ShadowChoice, shadowsOf } from './traffic/shadow-sampling.ts';
export { stableDraw } from './traffic/stable-draw.ts';
export { VersionShares, type WeightedChoice } from './traffic/version-shares.ts';
