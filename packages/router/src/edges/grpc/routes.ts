/** The operations of the Open Inference Protocol over gRPC. */
import { create } from '@bufbuild/protobuf';
import { bidi, type RpcError, type RpcMethod, type RpcService, unary } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import {
  GRPCInferenceService,
  ModelConfigRequestSchema,
  ModelConfigResponseSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
  ModelReadyRequestSchema,
  ModelReadyResponseSchema,
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
  ServerLiveRequestSchema,
  ServerLiveResponseSchema,
  ServerMetadataRequestSchema,
  ServerMetadataResponseSchema,
  ServerReadyRequestSchema,
  ServerReadyResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import type { CallerRule } from '../caller.ts';
import { extensionsOf, type OpenInferenceParts } from '../open-inference.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { GrpcConfig } from './config.ts';
import { encodeModelConfig, encodeModelMetadata } from './encode-model.ts';
import type { InferResponse } from './encode-response.ts';
import { encodeStatistics } from './encode-statistics.ts';
import type { StreamResponse } from './encode-stream-response.ts';
import { InferOperation } from './infer.ts';
import { inferRequestCodec, inferResponseCodec, streamRequestCodec, streamResponseCodec } from './infer-codec.ts';
import type { InferMessage } from './infer-message.ts';
import type { JsonRequest } from './json-request.ts';
import type { JsonResponse } from './json-response.ts';
import { codecOf } from './message-codec.ts';
import { repositoryMethods } from './repository-methods.ts';
import { type StreamedMessage, StreamInferOperation } from './stream-infer.ts';

export interface GrpcDependencies extends OpenInferenceParts {
  readonly config: GrpcConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  readonly errorFrom: (error: unknown) => RpcError;
}

export const inferMethodName = 'ModelInfer';

export interface InferenceService extends RpcService {
  /** Ends the streams, which would last as long as their callers like. */
  end(): void;
}

export function inferenceService(dependencies: GrpcDependencies): InferenceService {
  const { config, errorFrom } = dependencies;
  const operation = new InferOperation(dependencies);
  const streams = new StreamInferOperation({
    operation,
    limits: {
      requestsMax: config.streamRequestsMax,
      slotWaitRequestsMax: config.streamSlotWaitRequestsMax,
      slotWaitBytesMax: config.streamSlotWaitBytesMax,
    },
    errorFrom,
  });
  return {
    end: () => streams.end(),
    name: GRPCInferenceService.typeName,
    methods: [
      ...serverMethods(dependencies),
      ...modelMethods(dependencies),
      ...statisticsMethods(dependencies),
      ...(dependencies.management === undefined ? [] : repositoryMethods(dependencies.management)),
      modelInfer(operation, dependencies),
      modelStreamInfer(streams, dependencies),
    ],
  };
}

function serverMethods(dependencies: GrpcDependencies): readonly RpcMethod[] {
  const { health, server } = dependencies;
  const { name, version } = server;
  const extensions = extensionsOf(dependencies);
  return [
    unary({
      name: 'ServerLive',
      isIdempotent: true,
      request: codecOf(ServerLiveRequestSchema),
      response: codecOf(ServerLiveResponseSchema),
      handle: () => create(ServerLiveResponseSchema, { live: health.isLive }),
    }),
    unary({
      name: 'ServerReady',
      isIdempotent: true,
      request: codecOf(ServerReadyRequestSchema),
      response: codecOf(ServerReadyResponseSchema),
      handle: () => create(ServerReadyResponseSchema, { ready: health.isReady }),
    }),
    unary({
      name: 'ServerMetadata',
      isIdempotent: true,
      request: codecOf(ServerMetadataRequestSchema),
      response: codecOf(ServerMetadataResponseSchema),
      handle: () => create(ServerMetadataResponseSchema, { name, version, extensions }),
    }),
  ];
}

function modelMethods({ catalogue }: GrpcDependencies): readonly RpcMethod[] {
  return [
    unary({
      name: 'ModelReady',
      isIdempotent: true,
      request: codecOf(ModelReadyRequestSchema),
      response: codecOf(ModelReadyResponseSchema),
      handle: ({ name, version }) =>
        create(ModelReadyResponseSchema, { ready: isModelReady(catalogue, name, version) }),
    }),
    unary({
      name: 'ModelMetadata',
      isIdempotent: true,
      request: codecOf(ModelMetadataRequestSchema),
      response: codecOf(ModelMetadataResponseSchema),
      handle: ({ name, version }) => {
        const view = catalogue.mustFind(name, version);
        return encodeModelMetadata(view, version === '' ? catalogue.readyVersions(name) : [view.version]);
      },
    }),
    unary({
      name: 'ModelConfig',
      isIdempotent: true,
      request: codecOf(ModelConfigRequestSchema),
      response: codecOf(ModelConfigResponseSchema),
      handle: ({ name, version }) => encodeModelConfig(catalogue.mustFind(name, version)),
    }),
  ];
}

function statisticsMethods({ statistics }: GrpcDependencies): readonly RpcMethod[] {
  if (statistics === undefined) return [];
  return [
    unary({
      name: 'ModelStatistics',
      isIdempotent: true,
      request: codecOf(ModelStatisticsRequestSchema),
      response: codecOf(ModelStatisticsResponseSchema),
      handle: ({ name, version }) => encodeStatistics(statistics.of(name, version)),
    }),
  ];
}

function modelStreamInfer(streams: StreamInferOperation, { config }: GrpcDependencies): RpcMethod {
  return bidi<StreamedMessage, StreamResponse>({
    name: 'ModelStreamInfer',
    request: streamRequestCodec(config),
    response: streamResponseCodec,
    handle: (requests, call) => streams.serve(requests, call),
  });
}

function modelInfer(operation: InferOperation, { config, errorFrom }: GrpcDependencies): RpcMethod {
  return unary<InferMessage | JsonRequest, InferResponse | JsonResponse>({
    name: inferMethodName,
    request: inferRequestCodec(config, errorFrom),
    response: inferResponseCodec,
    handle: (message, call) => {
      operation.run(message, call);
      return undefined;
    },
  });
}

/** A model that is not there is as little ready as one that is loading: both are a plain no. */
export function isModelReady(catalogue: Catalogue, name: string, version: string): boolean {
  try {
    catalogue.mustFind(name, version);
    return true;
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    return false;
  }
}
