import type { DescFile } from '@bufbuild/protobuf';
import type { RefusedCall, RpcError, RpcService } from '@millrace/http';
import type { WatchedHealth } from '../../catalogue/catalogue.ts';
import { CallerRule } from '../caller.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { type GrpcOptions, resolveGrpcConfig } from './config.ts';
import { createErrorEncoder } from './encode-error.ts';
import { file_google_rpc_error_details } from './generated/google/rpc/error_details_pb.ts';
import { file_grpc_health_v1_health } from './generated/grpc/health/v1/health_pb.ts';
import { file_grpc_reflection_v1_reflection } from './generated/grpc/reflection/v1/reflection_pb.ts';
import { file_grpc_reflection_v1alpha_reflection } from './generated/grpc/reflection/v1alpha/reflection_pb.ts';
import { file_inference_grpc_service, GRPCInferenceService } from './generated/inference/grpc_service_pb.ts';
import { HealthService } from './health-service.ts';
import { ReflectionService } from './reflection-service.ts';
import { takeRefusedCallCode } from './refused-call.ts';
import { inferenceService, inferMethodName } from './routes.ts';

export interface GrpcEdgeOptions extends OpenInferenceParts {
  readonly health: WatchedHealth;
  /** Of other edges that share its port, its health and its reflection. */
  readonly added?: readonly AddedService[];
  readonly limits?: GrpcOptions;
  /** Left out, callers are told apart by the owners of their connections. */
  readonly callers?: CallerRule;
  /** Where long work takes turns with that of other edges; one of its own unless given. */
  readonly slices?: SliceQueue;
  /** Hears of defects; clients are told only that there was one. */
  readonly onError?: (error: unknown) => void;
}

export interface AddedService {
  readonly service: RpcService;
  /** Declares it. */
  readonly file: DescFile;
  /** Ends the calls that would last as long as the server. */
  end(): void;
}

/** To be given to `createRpcHandler`. */
export interface GrpcEdge {
  readonly services: readonly RpcService[];
  errorFrom(error: unknown): RpcError;
  /** A call ended before its handler was asked: inferences among them are counted as refused. */
  noteRefused(call: RefusedCall, error: RpcError): void;
  /** Ends the calls that would last as long as the server: health watches, reflection. To be called when it drains. */
  end(): void;
}

/** The inference service, health checking and reflection. */
export function createGrpcEdge(options: GrpcEdgeOptions): GrpcEdge {
  const {
    added = [],
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
  const inference = inferenceService({ ...parts, config, callers, slices, errorFrom });
  const healthService = new HealthService({
    catalogue,
    health,
    serviceNames: [GRPCInferenceService.typeName, ...added.map(({ service }) => service.name)],
  });
  const files = [
    file_google_rpc_error_details,
    file_inference_grpc_service,
    ...added.map(({ file }) => file),
    file_grpc_health_v1_health,
    file_grpc_reflection_v1_reflection,
    file_grpc_reflection_v1alpha_reflection,
  ];
  const serviceNames = files.flatMap((file) => file.services.map(({ typeName }) => typeName));
  const reflection = new ReflectionService(files, serviceNames);
  return {
    services: [inference, ...added.map(({ service }) => service), healthService.service, ...reflection.services],
    errorFrom,
    noteRefused: ({ service, method }, error) => {
      const isInference = service === GRPCInferenceService.typeName && method === inferMethodName;
      if (isInference) dataPlane.noteRefusal(takeRefusedCallCode(error) ?? 'internal');
    },
    end: () => {
      inference.end();
      healthService.end();
      reflection.end();
      for (const one of added) one.end();
    },
  };
}
