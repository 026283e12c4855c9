/** The error catalogue in gRPC's form: the status, and google.rpc details for programs. */
import { create, toBinary } from '@bufbuild/protobuf';
import { type ErrorDetail, RpcError, rpcCodeFrom } from '@millrace/http';
import { type ErrorCode, errorCatalogue, grpcStatus, InferenceError } from '@millrace/protocol';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../proto/generated/google/rpc/error_details_pb.ts';
import { takeRefusedCallCode } from './refused-call.ts';

/** The domain of the reasons in `ErrorInfo`. */
const errorDomain = 'millrace';

export interface GrpcErrorOptions {
  /** What `RetryInfo` says where the catalogue advises a later attempt and nothing better is known. */
  readonly retryAfterSeconds: number;
  /** Called with unexpected errors; the caller sees only that there was one. */
  readonly onError: (error: unknown) => void;
}

/** Makes the function that converts anything a handler threw into the error for its caller. */
export function createErrorEncoder({ retryAfterSeconds, onError }: GrpcErrorOptions): (error: unknown) => RpcError {
  // A full server refuses often: what does not depend on the message is made once.
  const detailsByCode = new Map<ErrorCode, readonly ErrorDetail[]>();
  const detailsOf = (code: ErrorCode): readonly ErrorDetail[] => {
    let details = detailsByCode.get(code);
    if (details === undefined) {
      details = [errorInfo(code), ...(isRepeatable(code) ? [retryInfo(retryAfterSeconds * 1000)] : [])];
      detailsByCode.set(code, details);
    }
    return details;
  };
  const detailsFor = (code: ErrorCode, message: string): readonly ErrorDetail[] =>
    code === 'invalid-request' ? [...detailsOf(code), badRequest(message)] : detailsOf(code);
  return (error) => {
    if (error instanceof RpcError) {
      // Refusals of the protocol itself (a message that is too large, a deadline) have no details of the catalogue yet.
      const told = error.details.length > 0 ? undefined : takeRefusedCallCode(error);
      if (told === undefined) return error;
      return new RpcError(error.code, error.message, detailsFor(told, error.message), { cause: error.cause });
    }
    if (!(error instanceof InferenceError)) onError(error);
    const { code, kind, message, retryAfterMs } =
      error instanceof InferenceError
        ? error
        : new InferenceError('internal', 'the server failed on this request; its log says why');
    const details =
      retryAfterMs !== undefined && isRepeatable(code)
        ? [errorInfo(code), retryInfo(retryAfterMs)]
        : detailsFor(code, message);
    return new RpcError(rpcCodeFrom(grpcStatus[kind.grpc]), message, details, { cause: error });
  };
}

function isRepeatable(code: ErrorCode): boolean {
  return errorCatalogue[code].retry === 'after-backoff';
}

function errorInfo(code: ErrorCode): ErrorDetail {
  const info = create(ErrorInfoSchema, { reason: reasonFrom(code), domain: errorDomain });
  return { type: ErrorInfoSchema.typeName, value: toBinary(ErrorInfoSchema, info) };
}

function retryInfo(delayMs: number): ErrorDetail {
  const wholeMs = Math.ceil(delayMs);
  const retryDelay = { seconds: BigInt(Math.floor(wholeMs / 1000)), nanos: (wholeMs % 1000) * 1_000_000 };
  const retry = create(RetryInfoSchema, { retryDelay });
  return { type: RetryInfoSchema.typeName, value: toBinary(RetryInfoSchema, retry) };
}

function badRequest(description: string): ErrorDetail {
  const request = create(BadRequestSchema, { fieldViolations: [{ description }] });
  return { type: BadRequestSchema.typeName, value: toBinary(BadRequestSchema, request) };
}

/** `unknown-model` → `UNKNOWN_MODEL`. */
function reasonFrom(code: ErrorCode): string {
  return code.toUpperCase().replaceAll('-', '_');
}
