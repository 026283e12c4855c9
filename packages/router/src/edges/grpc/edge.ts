import type { RefusedCall, RpcError, RpcService } from '@millrace/http';
import type { WatchedHealth } from '../../catalogue/catalogue.ts';
import { file_inference_grpc_service, GRPCInferenceService } from '../../proto/generated/inference/grpc_service_pb.ts';
import type { StreamGateway } from '../../streams/stream-gateway.ts';
import { CallerRule } from '../caller.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import type { AddedService } from './added-service.ts';
import { CallTurns } from './call-turns.ts';
import { type GrpcOptions, resolveGrpcConfig } from './config.ts';
import { createErrorEncoder } from './encode-error.ts';
import { HealthService } from './health-service.ts';
import { ReflectionService } from './reflection-service.ts';
import { noteRefusedCall } from './refused-call.ts';
import { inferenceService } from './routes.ts';

export interface GrpcEdgeOptions extends OpenInferenceParts {
  readonly health: WatchedHealth;
  /** Of other edges that share its port, its health and its reflection. */
  readonly added?: readonly AddedService[];
  /** Durable streams for ModelStreamInfer; without it no request belongs to one. */
  readonly streams?: StreamGateway;
  readonly limits?: GrpcOptions;
  /** Left out, callers are distinguished by the owners of their connections. */
  readonly callers?: CallerRule;
  /** Where long work takes turns with that of other edges; one of its own unless given. */
  readonly slices?: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError?: (error: unknown) => void;
}

/** To be given to `createRpcHandler`. */
export interface GrpcEdge {
  readonly services: readonly RpcService[];
  errorFrom(error: unknown): RpcError;
  /** A call ended before its handler was called: inferences are counted as refused. */
  noteRefused(call: RefusedCall, error: RpcError): void;
  /** Ends the calls that have no end of their own: health watches, reflection. To be called when the server drains. */
  end(): void;
}

/** The inference service, health checking and reflection. */
export function createGrpcEdge(options: GrpcEdgeOptions): GrpcEdge {
  const {
    added = [],
    streams,
    limits = {},
    callers = new CallerRule(),
    slices = new SliceQueue(),
    onError = () => {},
    ...parts
  } = options;
  const { catalogue, dataPlane, health } = parts;
  const config = resolveGrpcConfig(limits);
  const { retryAfterSeconds } = config;
  const errorFrom = createErrorEncoder({ retryAfterSeconds, onError });
  const turns = new CallTurns(slices, callers);
  const inference = inferenceService({ ...parts, config, callers, slices, turns, errorFrom, streams });
  const healthService = new HealthService({
    catalogue,
    health,
    turns,
    serviceNames: [GRPCInferenceService.typeName, ...added.map(({ service }) => service.name)],
  });
  const beside: readonly AddedService[] = [...added, healthService];
  const reflection = new ReflectionService([file_inference_grpc_service, ...beside.map(({ file }) => file)], turns);
  return {
    services: [inference, ...beside.map(({ service }) => service), ...reflection.services],
    errorFrom,
    noteRefused: (call, error) => noteRefusedCall(call, error, dataPlane),
    end: () => {
      inference.end();
      reflection.end();
      for (const one of beside) one.end();
    },
  };
}
