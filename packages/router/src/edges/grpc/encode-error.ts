/** The error catalogue in gRPC's words: the status, and google.rpc details for programs that look closer. */
import { create, toBinary } from '@bufbuild/protobuf';
import { type ErrorDetail, RpcError, rpcCodeFrom } from '@millrace/http';
import { type ErrorCode, errorCatalogue, grpcStatus, InferenceError } from '@millrace/protocol';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from './generated/google/rpc/error_details_pb.ts';

/** Who coined the reasons that `ErrorInfo` gives. */
export const errorDomain = 'millrace';

export interface EncodeErrorOptions {
  /** What `RetryInfo` says where the catalogue advises a later attempt. */
  readonly retryAfterSeconds: number;
  /** Hears of defects; the caller is told only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** Makes the function that turns whatever a handler threw into what its caller is told. */
export function createErrorEncoder({ retryAfterSeconds, onError }: EncodeErrorOptions): (error: unknown) => RpcError {
  // A server that refuses because it is full refuses often: what does not depend on the message is made once.
  const detailsByCode = new Map<ErrorCode, readonly ErrorDetail[]>();
  const detailsOf = (code: ErrorCode): readonly ErrorDetail[] => {
    let details = detailsByCode.get(code);
    if (details === undefined) {
      details = commonDetails(code, retryAfterSeconds);
      detailsByCode.set(code, details);
    }
    return details;
  };
  return (error) => {
    if (error instanceof RpcError) return error;
    if (!(error instanceof InferenceError)) onError(error);
    const { code, kind, message } =
      error instanceof InferenceError
        ? error
        : new InferenceError('internal', 'the server failed on this request; its log says why');
    const details = code === 'invalid-request' ? [...detailsOf(code), badRequest(message)] : detailsOf(code);
    return new RpcError(rpcCodeFrom(grpcStatus[kind.grpc]), message, details, { cause: error });
  };
}

function commonDetails(code: ErrorCode, retryAfterSeconds: number): readonly ErrorDetail[] {
  const info = create(ErrorInfoSchema, { reason: reasonFrom(code), domain: errorDomain });
  const details: ErrorDetail[] = [{ type: ErrorInfoSchema.typeName, value: toBinary(ErrorInfoSchema, info) }];
  if (errorCatalogue[code].retry === 'after-backoff') {
    const retry = create(RetryInfoSchema, { retryDelay: { seconds: BigInt(retryAfterSeconds) } });
    details.push({ type: RetryInfoSchema.typeName, value: toBinary(RetryInfoSchema, retry) });
  }
  return details;
}

function badRequest(description: string): ErrorDetail {
  const request = create(BadRequestSchema, { fieldViolations: [{ description }] });
  return { type: BadRequestSchema.typeName, value: toBinary(BadRequestSchema, request) };
}

/** `unknown-model` → `UNKNOWN_MODEL`. */
function reasonFrom(code: ErrorCode): string {
  return code.toUpperCase().replaceAll('-', '_');
}
