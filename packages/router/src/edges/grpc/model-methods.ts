/** Metadata, configuration and readiness of a model. */
import { create } from '@bufbuild/protobuf';
import { type RpcMethod, unary } from '@millrace/http';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import {
  ModelConfigRequestSchema,
  ModelConfigResponseSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
  ModelReadyRequestSchema,
  ModelReadyResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { takeReadinessProblem } from '../model-readiness.ts';
import { modelConfigMessage, modelMetadataMessage } from './encode-model.ts';
import { codecOf } from './message-codec.ts';

export function modelMethods(catalogue: Catalogue): readonly RpcMethod[] {
  return [
    unary({
      name: 'ModelReady',
      isIdempotent: true,
      request: codecOf(ModelReadyRequestSchema),
      response: codecOf(ModelReadyResponseSchema),
      handle: ({ name, version }, call) => {
        call.subject = name;
        return create(ModelReadyResponseSchema, {
          ready: takeReadinessProblem(catalogue, name, version) === undefined,
        });
      },
    }),
    unary({
      name: 'ModelMetadata',
      isIdempotent: true,
      request: codecOf(ModelMetadataRequestSchema),
      response: codecOf(ModelMetadataResponseSchema),
      handle: ({ name, version }, call) => {
        call.subject = name;
        const view = catalogue.mustFind(name, version);
        return modelMetadataMessage(view, version === '' ? catalogue.readyVersions(name) : [view.version]);
      },
    }),
    unary({
      name: 'ModelConfig',
      isIdempotent: true,
      request: codecOf(ModelConfigRequestSchema),
      response: codecOf(ModelConfigResponseSchema),
      handle: ({ name, version }, call) => {
        call.subject = name;
        return modelConfigMessage(catalogue.mustFind(name, version));
      },
    }),
  ];
}
