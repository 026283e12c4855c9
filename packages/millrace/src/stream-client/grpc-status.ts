/** The status of a gRPC call as its client sees it, by the rules of gRPC: what the server said, or how the connection ended. */
import { constants } from 'node:http2';
import { type ErrorCode, errorCatalogue } from '@millrace/protocol';

const statusNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type GrpcCallStatusName = (typeof statusNames)[number];

export interface GrpcCallStatus {
  readonly name: GrpcCallStatusName;
  readonly message: string;
  /** Of the error catalogue, where the server said one. */
  readonly code?: ErrorCode | undefined;
  /** The error of the system, where the connection failed: `ECONNREFUSED`. */
  readonly systemCode?: string | undefined;
  /** Of an answer that is none of gRPC. */
  readonly httpStatus?: number | undefined;
}

type Fields = Readonly<Record<string, string | string[] | number | undefined>>;

/** What the fields of the trailers, or of a response without messages, say; undefined: they have no status. */
export function statusFromFields(fields: Fields): GrpcCallStatus | undefined {
  const written = fields['grpc-status'];
  if (written === undefined) return undefined;
  const name = statusNames[Number(written)] ?? 'UNKNOWN';
  const details = fields['grpc-status-details-bin'];
  return {
    name,
    message: decodedMessage(String(fields['grpc-message'] ?? '')),
    code: typeof details === 'string' ? takeErrorCode(Buffer.from(details, 'base64')) : undefined,
  };
}

/** A response that is none of gRPC: https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md */
export function statusFromHttp(httpStatus: number): GrpcCallStatus {
  const name = httpStatusNames[httpStatus] ?? 'UNKNOWN';
  const message =
    `the server answered a call with HTTP status ${httpStatus}: this is not a port for inference; ` +
    'give the address of --http-port or --grpc-port, not that of metrics or management';
  return { name, message, httpStatus };
}

const httpStatusNames: Readonly<Record<number, GrpcCallStatusName>> = {
  400: 'INTERNAL',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'UNIMPLEMENTED',
  429: 'UNAVAILABLE',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** The server reset the stream without a status: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#errors */
export function statusFromReset(resetCode: number): GrpcCallStatus {
  return {
    name: resetNames[resetCode] ?? 'INTERNAL',
    message: `the server reset the call with HTTP/2 code ${resetCode}`,
  };
}

const resetNames: Readonly<Record<number, GrpcCallStatusName>> = {
  [constants.NGHTTP2_REFUSED_STREAM]: 'UNAVAILABLE',
  [constants.NGHTTP2_CANCEL]: 'CANCELLED',
  [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 'RESOURCE_EXHAUSTED',
  [constants.NGHTTP2_INADEQUATE_SECURITY]: 'PERMISSION_DENIED',
};

function decodedMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The reason in google.rpc.ErrorInfo stands before its domain, `millrace`. */
function takeErrorCode(details: Buffer): ErrorCode | undefined {
  const [before = ''] = details.toString('latin1').split('\u0012\bmillrace');
  const reason = /[A-Z_]+$/.exec(before)?.[0] ?? '';
  const code = reason.toLowerCase().replaceAll('_', '-');
  return code in errorCatalogue ? (code as ErrorCode) : undefined;
}
