/** Answers a request that the gate refuses, in the form of its protocol. */
import type { WireExchange } from '@millrace/http';
import { type ErrorCode, errorCatalogue, grpcStatus, InferenceError } from '@millrace/protocol';
import { encodeError } from '../routing/encode-error.ts';

export interface GateRefusal {
  readonly code: ErrorCode;
  readonly message: string;
}

export function refuseRequest(exchange: WireExchange, { code, message }: GateRefusal): void {
  const contentType = exchange.headers.get('content-type') ?? '';
  if (/^application\/grpc/i.test(contentType)) {
    const status = grpcStatus[errorCatalogue[code].grpc];
    const fields = [
      ['content-type', /^application\/grpc-web/i.test(contentType) ? 'application/grpc-web+proto' : 'application/grpc'],
      ['grpc-status', String(status)],
      ['grpc-message', percentEncoded(message)],
    ] as const;
    exchange.answer(200, fields, undefined, undefined, undefined);
    return;
  }
  const { status, headers, body } = encodeError(new InferenceError(code, message), {
    retryAfterSeconds: 1,
    onError: () => {},
  });
  exchange.answer(status, headers, body as Uint8Array, undefined, undefined);
}

/** gRPC's percent-encoding of messages: visible ASCII except the percent sign is left as it is. */
function percentEncoded(message: string): string {
  return message.replaceAll(/[^ -$&-~]+/g, encodeURIComponent);
}
