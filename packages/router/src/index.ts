/** The public entry point: the interfaces for programs that use a router. The parts to build one are in `internal.ts`. */
export type { Catalogue, Health, ModelState, ModelStatus, WatchedHealth } from './catalogue/catalogue.ts';
export type {
  TrafficChange,
  TrafficControl,
  TrafficPolicy,
  WeightedVersion,
} from './catalogue/traffic/traffic-policy.ts';
export type {
  DataPlane,
  InferAnswer,
  InferRequest,
  InferTarget,
  Origin,
  Parameters,
  ParameterValue,
  SequenceStep,
} from './data-plane/infer.ts';
export type { ShadowedVersion } from './data-plane/traffic/model-names.ts';
export type { ContextStatus } from './life-cycle/context-statuses.ts';
export type { LoadOverrides } from './life-cycle/explicit/load-overrides.ts';
export type { ModelControl } from './life-cycle/model-control.ts';
export type { IndexEntry } from './life-cycle/repository-index.ts';
export type {
  BreakerState,
  InstanceStatus,
  Management,
  QueueStatus,
  StreamControl,
  StreamPage,
  StreamQuery,
  StreamStatus,
} from './management/management.ts';
export type {
  BatchStatistics,
  Duration,
  MemoryStatistics,
  ModelStatistics,
  Statistics,
  VersionStatistics,
} from './management/statistics.ts';
export type { BatchShaping } from './model/batch-shaping.ts';
export type { ModelView, ReadonlyJsonObject, ReadonlyJsonValue } from './model/model-view.ts';
export type { RunSharing } from './model/run-sharing.ts';
