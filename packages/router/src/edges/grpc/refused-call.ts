/** What the catalogue calls the refusal of a call that never reached its handler, so that it is counted with the others. */
import type { RpcCode, RpcError } from '@millrace/http';
import { type ErrorCode, InferenceError } from '@millrace/protocol';

const codes: Readonly<Partial<Record<RpcCode, ErrorCode>>> = {
  canceled: 'cancelled',
  invalid_argument: 'invalid-request',
  deadline_exceeded: 'deadline-exceeded',
  resource_exhausted: 'request-too-large',
  unimplemented: 'unsupported',
  unavailable: 'server-full',
};

export function refusedCallCode(error: RpcError): ErrorCode {
  const { cause } = error;
  return cause instanceof InferenceError ? cause.code : (codes[error.code] ?? 'internal');
}
