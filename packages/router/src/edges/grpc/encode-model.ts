/** Metadata and configuration of a model as messages. */
import { create, fromJson, type JsonValue, type MessageInitShape } from '@bufbuild/protobuf';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView, ReadonlyJsonValue as SeamJsonValue } from '../../model/model-view.ts';
import {
  type ModelConfigResponse,
  ModelConfigResponseSchema,
  type ModelMetadataResponse,
  type ModelMetadataResponse_TensorMetadataSchema,
  ModelMetadataResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { ModelConfigSchema } from '../../proto/generated/inference/model_config_pb.ts';

/** `versions` are the ready ones, or the one that was asked for. */
export function modelMetadataMessage(view: ModelView, versions: readonly string[]): ModelMetadataResponse {
  return create(ModelMetadataResponseSchema, {
    name: view.name,
    versions: [...versions],
    platform: view.platform,
    inputs: view.inputs.map(tensorMetadata),
    outputs: view.outputs.map(tensorMetadata),
  });
}

function tensorMetadata({
  name,
  datatype,
  shape,
}: TensorSpec): MessageInitShape<typeof ModelMetadataResponse_TensorMetadataSchema> {
  return { name, datatype, shape: shape.map(BigInt) };
}

/** The configuration is stored in the JSON form of this message. */
export function modelConfigMessage(view: ModelView): ModelConfigResponse {
  const config = fromJson(ModelConfigSchema, withoutBigints(view.config), { ignoreUnknownFields: true });
  return create(ModelConfigResponseSchema, { config });
}

/** Protobuf's JSON writes 64-bit integers as text. */
function withoutBigints(value: SeamJsonValue): JsonValue {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutBigints(member)]));
}
