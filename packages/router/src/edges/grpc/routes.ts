/** The operations of the Open Inference Protocol over gRPC. */
import type { RpcError, RpcService } from '@millrace/http';
import { GRPCInferenceService } from '../../proto/generated/inference/grpc_service_pb.ts';
import type { StreamGateway } from '../../streams/stream-gateway.ts';
import type { CallerRule } from '../caller.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { CallTurns } from './call-turns.ts';
import type { GrpcConfig } from './config.ts';
import { GrpcInferOperation } from './infer.ts';
import { modelInfer, modelStreamInfer } from './infer-methods.ts';
import { modelMethods } from './model-methods.ts';
import { repositoryMethods } from './repository-methods.ts';
import { serverMethods } from './server-methods.ts';
import { statisticsMethods } from './statistics-methods.ts';
import { StreamInferOperation } from './stream-infer.ts';

export interface GrpcDependencies extends OpenInferenceParts {
  readonly config: GrpcConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  readonly turns: CallTurns;
  readonly errorFrom: (error: unknown) => RpcError;
  readonly streams: StreamGateway | undefined;
}

export interface InferenceService extends RpcService {
  /** Ends the streams, which otherwise last until their callers end them. */
  end(): void;
}

export function inferenceService(dependencies: GrpcDependencies): InferenceService {
  const { catalogue, config, errorFrom, management, statistics } = dependencies;
  const operation = new GrpcInferOperation(dependencies);
  const streams = new StreamInferOperation({
    operation,
    limits: {
      requestsMax: config.streamRequestsMax,
      slotWaitRequestsMax: config.streamSlotWaitRequestsMax,
      slotWaitBytesMax: config.streamSlotWaitBytesMax,
    },
    errorFrom,
    gateway: dependencies.streams,
  });
  return {
    end: () => streams.end(),
    name: GRPCInferenceService.typeName,
    methods: [
      ...serverMethods(dependencies),
      ...modelMethods(catalogue),
      ...(statistics === undefined ? [] : statisticsMethods(statistics, dependencies.turns)),
      ...(management === undefined ? [] : repositoryMethods(management)),
      modelInfer(operation, config, errorFrom),
      modelStreamInfer(streams, config),
    ],
  };
}
