/** The internal entry point: the parts of a router, for the composition root and for tests. They may change in any version. */
export { pathRedactionFor } from './catalogue/path-redaction.ts';
export { ServedModels } from './catalogue/served-models.ts';
export { TrafficCatalogue } from './catalogue/traffic/traffic-catalogue.ts';
export { TrafficTable } from './catalogue/traffic/traffic-table.ts';
export { ResultCache } from './data-plane/cache/result-cache.ts';
export { type Clock, systemClock } from './data-plane/clock.ts';
export { noTrail } from './data-plane/infer.ts';
export { createDataPlane, type LiveDataPlane } from './data-plane/live-data-plane.ts';
export { type DataPlaneObserver, type ModelObserver, silentObserver, type WorkerState } from './data-plane/observer.ts';
export type { PendingObserver } from './data-plane/pending-requests.ts';
export { PolledLoop } from './data-plane/polled-loop.ts';
export { Runners } from './data-plane/runner-of.ts';
export type { DrivenScheduler } from './data-plane/scheduler-loop.ts';
export { ServedModel } from './data-plane/served-model.ts';
export type { ShadowOutcome } from './data-plane/traffic/shadow-outcome.ts';
export { defaultShadowLimits } from './data-plane/traffic/shadow-traffic.ts';
export { type AttachedLaneOptions, createAttachedLane } from './dispatch/attached-lane/attached-lane.ts';
export { createLocalLane, type LocalLaneOptions } from './dispatch/local-lane/local-lane.ts';
export type { WorkerLine } from './dispatch/local-lane/worker-output.ts';
export { workerAllocatorSettings } from './dispatch/local-lane/worker-process.ts';
export { PreparedLane, type PreparedLaneParts } from './dispatch/prepared-lane.ts';
export { ProbeMemory } from './dispatch/probe-memory.ts';
export { WorkerFleet } from './dispatch/worker-fleet.ts';
export { type LibraryListener, silentLibraryListener } from './life-cycle/library-listener.ts';
export type { LibraryControl, LoadPreparation, ModelLibraryParts } from './life-cycle/library-parts.ts';
export { ModelLibrary } from './life-cycle/model-library.ts';
export { fingerprintOfFolder } from './life-cycle/reading/fingerprint.ts';
export { repositoryFiles } from './life-cycle/reading/repository-files.ts';
export type { RepositorySource } from './life-cycle/reading/repository-source.ts';
export type { DrivenKeeper } from './life-cycle/revisions/keeper-loop.ts';
export type { ThreadShare } from './life-cycle/revisions/load-spec-of.ts';
export { measureProcess, measureProcesses } from './life-cycle/revisions/resident-memory.ts';
export type { LoadFailure } from './life-cycle/revisions/revision-listener.ts';
export { deviceNameOf } from './model/instance-placements.ts';
export type { LaneName, ModelDefinition, ModelFailure, ModelVersionDefinition } from './model/model-definition.ts';
export { reportedParameters } from './model/run-sharing.ts';
export { modelKinds } from './repository/kinds/kind-table.ts';
export { createPipelineDescriber, type DescribePipeline } from './repository/kinds/pipeline/describe-pipeline.ts';
export {
  type ModelDefaults,
  modelParameters,
  type ParameterName,
  parameterFamilies,
} from './repository/model-parameters.ts';
export type { ParameterKind } from './repository/parameter-kind.ts';
export { type RepositoryScan, scanRepository } from './repository/repository.ts';
export { decodeEntry } from './streams/entry-codec.ts';
export { isExact } from './streams/exactness.ts';
export { LiveStreamModels } from './streams/live-stream-models.ts';
export { ModelExactness, type ModelExactnessParts } from './streams/model-exactness.ts';
export { decodeOpening } from './streams/opening-record.ts';
export type { EarlierEnd } from './streams/restore-guard.ts';
export type {
  AttachedLink,
  StreamCaller,
  StreamGateway,
  StreamLinkFrame,
  StreamListenerOfLink,
} from './streams/stream-gateway.ts';
export { StreamHoldings } from './streams/stream-holdings.ts';
export { StreamHost } from './streams/stream-host.ts';
export type { StreamModels, StreamPin } from './streams/stream-models.ts';
export type { StreamObserver } from './streams/stream-observer.ts';
export type { StreamSettings } from './streams/stream-options.ts';
export { startConnectionMetrics } from './telemetry/connection-metrics.ts';
export { renderMetrics } from './telemetry/exposition.ts';
export { generatorMetrics, vllmMetrics } from './telemetry/generator-metrics.ts';
export { latencyBucketsSeconds } from './telemetry/latency-buckets.ts';
export { LifeCycleMetrics } from './telemetry/life-cycle-metrics.ts';
export { startMemoryMetrics } from './telemetry/memory-metrics.ts';
export {
  batchRowsBuckets,
  connectionMetrics,
  lifeCycleMetrics,
  loopDelayBucketsSeconds,
  memoryMetrics,
  modelMetrics,
  processMetrics,
  schedulerMetrics,
  serverMetrics,
  streamMetrics,
  tritonMetrics,
} from './telemetry/metric-table.ts';
export { metricsHandler } from './telemetry/metrics-handler.ts';
export { MetricsObserver } from './telemetry/metrics-observer.ts';
export { startProcessMetrics } from './telemetry/process-metrics.ts';
export { type MetricSpec, MetricsRegistry } from './telemetry/registry.ts';
export { startSchedulerMetrics } from './telemetry/scheduler-metrics.ts';
export { statisticsFrom } from './telemetry/statistics.ts';
export { StreamMetrics } from './telemetry/stream-metrics.ts';
