/** Management alone, for a port of its own: both interfaces, Triton's repository calls, OpenAPI and reflection; no inference. */
import type { HttpHandler, RpcError, RpcService } from '@millrace/http';
import { file_inference_grpc_service, GRPCInferenceService } from '../../proto/generated/inference/grpc_service_pb.ts';
import { CallTurns } from '../grpc/call-turns.ts';
import { createErrorEncoder } from '../grpc/encode-error.ts';
import { ReflectionService } from '../grpc/reflection-service.ts';
import { repositoryMethods } from '../grpc/repository-methods.ts';
import { type RestOptions, resolveRestConfig } from '../rest/config.ts';
import { repositoryRoutes } from '../rest/repository-routes.ts';
import { encodeError } from '../routing/encode-error.ts';
import { openApiRoute } from '../routing/openapi.ts';
import { createRouter } from '../routing/router.ts';
import type { ServerIdentity } from '../server-identity.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { createManagementEdge, type ManagementEdgeOptions } from './edge.ts';

export interface ManagementPortOptions extends ManagementEdgeOptions {
  readonly server: ServerIdentity;
  /** Of Triton's repository calls. */
  readonly restLimits?: RestOptions;
}

export interface ManagementPort {
  readonly rest: HttpHandler;
  /** To be given to `createRpcHandler`, with `errorFrom`. */
  readonly services: readonly RpcService[];
  errorFrom(error: unknown): RpcError;
  /** Ends the calls that have no end of their own. */
  end(): void;
}

export function createManagementPort(options: ManagementPortOptions): ManagementPort {
  const { management, server, slices = new SliceQueue(), onError = () => {} } = options;
  const edge = createManagementEdge({ ...options, slices });
  const config = resolveRestConfig(options.restLimits ?? {});
  const { retryAfterSeconds } = config;
  const routes = [...edge.routes, ...repositoryRoutes({ management, config, slices, onError })];
  const document = openApiRoute(
    { title: server.name, version: server.version, description: 'Management of the server' },
    routes,
  );
  const reflection = new ReflectionService([edge.service.file, file_inference_grpc_service], new CallTurns(slices));
  const repository = { name: GRPCInferenceService.typeName, methods: repositoryMethods(management) };
  return {
    rest: createRouter([...routes, document], (error) => encodeError(error, { retryAfterSeconds, onError })),
    services: [edge.service.service, repository, ...reflection.services],
    errorFrom: createErrorEncoder({ retryAfterSeconds, onError }),
    end: () => {
      edge.service.end();
      reflection.end();
    },
  };
}
