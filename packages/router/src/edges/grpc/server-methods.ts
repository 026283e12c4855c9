/** Liveness, readiness and metadata of the server. */
import { create } from '@bufbuild/protobuf';
import { type RpcMethod, unary } from '@millrace/http';
import {
  ServerLiveRequestSchema,
  ServerLiveResponseSchema,
  ServerMetadataRequestSchema,
  ServerMetadataResponseSchema,
  ServerReadyRequestSchema,
  ServerReadyResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { extensionsOf, type OpenInferenceParts } from '../open-inference.ts';
import { codecOf } from './message-codec.ts';

export function serverMethods(dependencies: OpenInferenceParts): readonly RpcMethod[] {
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
