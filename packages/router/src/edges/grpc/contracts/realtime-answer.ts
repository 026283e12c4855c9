/** Answers of `realtime.inference`: results as JSON, and errors as both a status and a text. */
import { create, toBinary } from '@bufbuild/protobuf';
import { RpcError } from '@millrace/http';
import {
  type InferenceResponse,
  InferenceResponseSchema,
  ProtocolVersion,
} from '../../../proto/generated/realtime/inference/inference_pb.ts';
import type { ContractVersion } from './protocol-versions.ts';

export interface RealtimeVersion extends ContractVersion {
  readonly number: ProtocolVersion;
  /** Answers say of themselves which model, stream and sequence they belong to. */
  readonly hasOrigin: boolean;
}

/** The lowest first. */
export const realtimeVersions: readonly [RealtimeVersion, ...RealtimeVersion[]] = [
  {
    name: 'V1',
    number: ProtocolVersion.V1,
    hasOrigin: false,
    deprecation: 'V1 is deprecated, since its answers do not say their sequence; send version V2',
  },
  { name: 'V2', number: ProtocolVersion.V2, hasOrigin: true },
];

/** The name of a version in a message; of an unknown one its number. */
export function versionNameOf(number: ProtocolVersion): string {
  return realtimeVersions.find((version) => version.number === number)?.name ?? String(number);
}

/** The member of `result_json` that says where an answer comes from, as V2 has it. */
export type AnswerOrigin = Readonly<Record<string, string | number | boolean>>;

export function originMember(version: RealtimeVersion, origin: AnswerOrigin): Readonly<Record<string, string>> {
  return version.hasOrigin ? { millrace: JSON.stringify(origin) } : {};
}

const int32Max = 2 ** 31 - 1;

export function resultResponse(
  version: RealtimeVersion,
  requestId: string,
  resultJson: string,
  latencyMs: number,
): InferenceResponse {
  const latency = Math.min(Math.max(Math.round(latencyMs), 0), int32Max);
  return create(InferenceResponseSchema, { version: version.number, requestId, resultJson, latencyMs: latency });
}

export function errorResponse(
  version: RealtimeVersion,
  requestId: string,
  errorMessage: string,
  latencyMs = 0,
): InferenceResponse {
  return { ...resultResponse(version, requestId, '', latencyMs), errorMessage };
}

/** A unary call has no message beside its status: the response travels as a detail of it. */
export function withResponse(error: RpcError, response: InferenceResponse): RpcError {
  const detail = { type: InferenceResponseSchema.typeName, value: toBinary(InferenceResponseSchema, response) };
  return new RpcError(error.code, error.message, [...error.details, detail], { cause: error });
}
