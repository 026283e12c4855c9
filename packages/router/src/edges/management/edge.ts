/** The management edge: one set of operations behind a REST interface and a gRPC interface, to be mounted on any port. */
import type { Management } from '../../management/management.ts';
import { file_millrace_v1_management } from '../../proto/generated/millrace/v1/management_pb.ts';
import type { AddedService } from '../grpc/added-service.ts';
import type { Route } from '../routing/route.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { type ManagementOptions, resolveManagementConfig } from './config.ts';
import { ManagementService } from './grpc/routes.ts';
import { type Every, ManagementOperations } from './operations.ts';
import { managementRoutes } from './rest/routes.ts';

export interface ManagementEdgeOptions {
  readonly management: Management;
  readonly limits?: ManagementOptions;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError?: (error: unknown) => void;
  /** Where work on large bodies takes turns with that of other edges; one of its own unless given. */
  readonly slices?: SliceQueue;
  /** The system's timer unless given. */
  readonly every?: Every;
}

export interface ManagementEdge {
  /** For a REST edge. */
  readonly routes: readonly Route[];
  /** For a gRPC edge. */
  readonly service: AddedService;
}

export function createManagementEdge(options: ManagementEdgeOptions): ManagementEdge {
  const { management, slices = new SliceQueue(), onError = () => {}, every = systemEvery } = options;
  const config = resolveManagementConfig(options.limits ?? {});
  const operations = new ManagementOperations({ management, config, every });
  const service = new ManagementService(operations);
  return {
    routes: managementRoutes({ operations, config, slices, onError }),
    service: { service: service.service, file: file_millrace_v1_management, end: () => service.end() },
  };
}

const systemEvery: Every = (intervalMs, run) => {
  // The timer of a watch must not keep the process alive; its connection does.
  const timer = setInterval(run, intervalMs).unref();
  return () => clearInterval(timer);
};
