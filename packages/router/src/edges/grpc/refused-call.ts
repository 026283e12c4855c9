/** The catalogue's code for a call that was refused before its handler, so that it is reported and counted like others. */
import { MemoryRefused, type RefusedCall, type RpcCode, type RpcError } from '@millrace/http';
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

/** Undefined: the catalogue has no code for it. */
export function takeRefusedCallCode({ cause, code }: RpcError): ErrorCode | undefined {
  if (cause instanceof InferenceError) return cause.code;
  return cause instanceof MemoryRefused ? 'caller-full' : codes[code];
}

/** Counts an inference as refused; other calls are not counted. */
export function noteRefusedCall({ service, method }: RefusedCall, error: RpcError, dataPlane: DataPlane): void {
  if (service !== GRPCInferenceService.typeName || method !== inferMethodName) return;
  dataPlane.noteRefusal(takeRefusedCallCode(error) ?? 'internal');
}
