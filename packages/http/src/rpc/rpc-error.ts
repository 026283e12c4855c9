import type { RpcCode } from './status.ts';

/** A message with details of an error, like `google.protobuf.Any` but without the URL's prefix. */
export interface ErrorDetail {
  /** Full name of the message, for instance `google.rpc.ErrorInfo`. */
  readonly type: string;
  /** The message in protobuf's binary form. */
  readonly value: Uint8Array;
}

/** Ends a call with an error, which each protocol encodes its own way. Callers see the message. */
export class RpcError extends Error {
  readonly code: RpcCode;
  readonly details: readonly ErrorDetail[];

  constructor(code: RpcCode, message: string, details: readonly ErrorDetail[] = [], options?: ErrorOptions) {
    super(message, options);
    this.name = 'RpcError';
    this.code = code;
    this.details = details;
  }
}
