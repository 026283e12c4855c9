/** Calls that never reached their handler: what the catalogue calls their refusal, so that it is counted with the others. */
import type { RefusedCall, RpcCode, RpcError } from '@millrace/http';
import { type ErrorCode, InferenceError } from '@millrace/protocol';
import type { DataPlane } from '../../data-plane/infer.ts';
import { GRPCInferenceService } from '../../proto/generated/inference/grpc_service_pb.ts';
import { inferMethodName } from './infer-methods.ts';

const codes: Readonly<Partial<Record<RpcCode, ErrorCode>>> = {
  canceled: 'cancelled',
  invalid_argument: 'invalid-request',
  deadline_exceeded: 'deadline-exceeded',
  resource_exhausted: 'request-too-large',
  unimplemented: 'unsupported',
  unavailable: 'server-full',
};

/** Counts an inference as refused; other calls are not counted. */
export function noteRefusedCall({ service, method }: RefusedCall, error: RpcError, dataPlane: DataPlane): void {
  if (service !== GRPCInferenceService.typeName || method !== inferMethodName) return;
  dataPlane.noteRefusal(error.cause instanceof InferenceError ? error.cause.code : (codes[error.code] ?? 'internal'));
}
