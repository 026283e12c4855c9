/** `@millrace/client/management`: for programs of operators. It is not part of the bundle of a page that runs inference. */
export { MillraceError, type MillraceErrorCode } from '../errors/millrace-error.ts';
export {
  createManagement,
  type LoadOptions,
  type ManagedServer,
  type StreamListOptions,
  type TrafficOptions,
  type UnloadOptions,
} from './managed-server.ts';
export type {
  ManagedContext,
  ManagedInstance,
  ManagedModel,
  ManagedQueue,
  ManagedQueues,
  ManagedStream,
  ManagedStreams,
  ModelTraffic,
  ModelTrafficChange,
  VersionShadow,
  VersionWeight,
} from './management-answers.ts';
export type { ManagedServerOptions } from './management-calls.ts';
