/** The status of a call as an error: by the details that Millrace sends, otherwise by the number. */
import type { HeaderField } from '@millrace/http2';
import { MalformedMessage, ProtoCursor } from '@millrace/protocol';
import { errorFromHttp } from '../../errors/error-from-answer.ts';
import { isErrorCode, MillraceError, type MillraceErrorCode, unreachable } from '../../errors/millrace-error.ts';

/** Statuses of gRPC where no code of the catalogue came with them: proxies, and other servers. */
const codesByStatus: readonly MillraceErrorCode[] = [
  'internal', // 0 OK never gets here
  'cancelled',
  'internal',
  'invalid-request',
  'deadline-exceeded',
  'not-found',
  'conflict',
  'forbidden',
  'caller-full',
  'invalid-request',
  'conflict',
  'invalid-request',
  'unsupported',
  'internal',
  'unreachable',
  'internal',
  'forbidden',
];

/** Undefined: the call succeeded. */
export function errorFromTrailers(trailers: readonly HeaderField[]): MillraceError | undefined {
  const status = takeField(trailers, 'grpc-status');
  if (status === '0') return undefined;
  const httpStatus = takeField(trailers, ':status');
  if (status === undefined) {
    if (httpStatus !== undefined && httpStatus !== '200') {
      const message = `the server answered with HTTP status ${httpStatus} instead of gRPC`;
      return errorFromHttp(Number(httpStatus), takeField(trailers, 'millrace-error-code') ?? null, message, null);
    }
    return unreachable('the answer has no gRPC status', true);
  }
  const message = unescaped(takeField(trailers, 'grpc-message') ?? '');
  const details = takeDetails(takeField(trailers, 'grpc-status-details-bin'));
  const code = details?.code ?? codesByStatus[Number(status)] ?? 'internal';
  return new MillraceError(code, message, { retryAfterMs: details?.retryAfterMs });
}

function takeField(fields: readonly HeaderField[], name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value;
}

/** `grpc-message` is percent-encoded UTF-8. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface StatusDetails {
  code: MillraceErrorCode | undefined;
  retryAfterMs: number | undefined;
}

/** `google.rpc.Status` with `ErrorInfo` and `RetryInfo`. Details of others are passed over. */
function takeDetails(written: string | undefined): StatusDetails | undefined {
  if (written === undefined) return undefined;
  const found: StatusDetails = { code: undefined, retryAfterMs: undefined };
  try {
    const status = Buffer.from(written, 'base64');
    eachField(status, (number, value) => {
      if (number === 3 && value instanceof Uint8Array) readDetail(value, found);
    });
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
  }
  return found;
}

function readDetail(any: Uint8Array, found: StatusDetails): void {
  let type = '';
  let content: Uint8Array = new Uint8Array();
  eachField(any, (number, value) => {
    if (number === 1 && value instanceof Uint8Array) type = textOf(value);
    else if (number === 2 && value instanceof Uint8Array) content = value;
  });
  if (type.endsWith('/google.rpc.ErrorInfo')) {
    let [reason, domain] = ['', ''];
    eachField(content, (number, value) => {
      if (number === 1 && value instanceof Uint8Array) reason = textOf(value);
      else if (number === 2 && value instanceof Uint8Array) domain = textOf(value);
    });
    const code = reason.toLowerCase().replaceAll('_', '-');
    if (domain === 'millrace' && isErrorCode(code)) found.code = code;
  } else if (type.endsWith('/google.rpc.RetryInfo')) {
    eachField(content, (number, value) => {
      if (number === 1 && value instanceof Uint8Array) found.retryAfterMs = durationMs(value);
    });
  }
}

function durationMs(bytes: Uint8Array): number {
  let ms = 0;
  eachField(bytes, (number, value) => {
    if (number === 1 && typeof value === 'number') ms += value * 1000;
    else if (number === 2 && typeof value === 'number') ms += value / 1e6;
  });
  return ms;
}

function eachField(bytes: Uint8Array, take: (number: number, value: number | Uint8Array) => void): void {
  const cursor = new ProtoCursor(bytes);
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if ((tag & 7) === 0) take(tag >>> 3, cursor.readInt64());
    else if ((tag & 7) === 2) take(tag >>> 3, cursor.readBytes());
    else cursor.skip(tag);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
