/** The status of a call, as gRPC and gRPC-Web write it into trailers. */
import { MalformedMessage, ProtoCursor } from '@millrace/protocol';
import { errorFromHttp } from '../../errors/error-from-answer.ts';
import { type MillraceError, unreachable } from '../../errors/millrace-error.ts';
import { bytesFromBase64 } from '../../frames/base64.ts';
import { type RpcDetail, type RpcField, type RpcOutcome, statusCode } from './rpc-call.ts';

const noDetails: readonly RpcDetail[] = [];
export const okOutcome: RpcOutcome = { code: statusCode.ok, message: '', details: noDetails, fault: undefined };

/** The client says so, and not the server. */
export function faultOutcome(code: number, fault: MillraceError): RpcOutcome {
  return { code, message: fault.message, details: noDetails, fault };
}

/** The connection was lost, or never was. */
export function lostOutcome(fault: MillraceError): RpcOutcome {
  return faultOutcome(statusCode.unavailable, fault);
}

/** The answer is none of the protocol: a proxy spoke, or a broken server. The call may be repeated elsewhere. */
export function brokenOutcome(message: string): RpcOutcome {
  return faultOutcome(statusCode.internal, unreachable(message, true));
}

/** By `grpc-status`; undefined: the fields have none. */
export function outcomeFromTrailers(fields: readonly RpcField[]): RpcOutcome | undefined {
  const status = takeField(fields, 'grpc-status');
  if (status === '0') return okOutcome;
  if (status === undefined) return undefined;
  const code = /^\d+$/.test(status) && Number(status) <= statusCode.unauthenticated ? Number(status) : 2;
  const message = unescaped(takeField(fields, 'grpc-message') ?? '');
  return { code, message, details: detailsFrom(takeField(fields, 'grpc-status-details-bin')), fault: undefined };
}

export function takeField(fields: readonly RpcField[], name: string): string | undefined {
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as RpcField;
    if (field.name === name) return field.value;
  }
  return undefined;
}

/** For an answer that is not one of the protocol; its HTTP status is all there is. */
export function outcomeFromHttp(httpStatus: number, fields: readonly RpcField[], message: string): RpcOutcome {
  const code = codesByHttpStatus[httpStatus] ?? statusCode.unknown;
  const errorCode = takeField(fields, 'millrace-error-code') ?? null;
  const retryAfter = takeField(fields, 'retry-after') ?? null;
  return faultOutcome(code, errorFromHttp(httpStatus, errorCode, message, retryAfter));
}

/** As gRPC and Connect map them. */
const codesByHttpStatus: Readonly<Record<number, number>> = {
  400: statusCode.internal,
  401: statusCode.unauthenticated,
  403: statusCode.permissionDenied,
  404: statusCode.unimplemented,
  429: statusCode.unavailable,
  502: statusCode.unavailable,
  503: statusCode.unavailable,
  504: statusCode.unavailable,
};

/**
 * Undefined: the head begins an answer in one of `types`. An answer with an HTTP status of failure, or with another type, has
 * no messages. A type that begins with `family` is one of the protocol, with messages in another form than protobuf.
 */
export function headProblem(
  httpStatus: number,
  fields: readonly RpcField[],
  types: readonly string[],
  family: string,
): RpcOutcome | undefined {
  if (httpStatus !== 200) {
    return outcomeFromHttp(httpStatus, fields, `the server answered with HTTP status ${httpStatus}`);
  }
  const contentType = takeField(fields, 'content-type') ?? '';
  const [bare = ''] = contentType.split(';', 1);
  if (types.includes(bare)) return undefined;
  const fault = unreachable(`the server answered with ${contentType || 'no type'} instead of ${types[0]}`, true);
  return faultOutcome(bare.startsWith(family) ? statusCode.internal : statusCode.unknown, fault);
}

/** `grpc-message` is percent-encoded UTF-8; what is not is left as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `google.rpc.Status` in base64. What cannot be read is passed over: the status itself is in other fields. */
function detailsFrom(written: string | undefined): readonly RpcDetail[] {
  if (written === undefined) return noDetails;
  const details: RpcDetail[] = [];
  try {
    eachProtoField(bytesFromBase64(written), (number, value) => {
      if (number === 3 && value instanceof Uint8Array) details.push(detailFrom(value));
    });
  } catch (error) {
    if (!(error instanceof MalformedMessage || error instanceof DOMException)) throw error;
  }
  return details;
}

const decoder = /* @__PURE__ */ new TextDecoder();

function detailFrom(any: Uint8Array): RpcDetail {
  let type = '';
  let content: Uint8Array = new Uint8Array();
  eachProtoField(any, (number, value) => {
    if (number === 1 && value instanceof Uint8Array) type = decoder.decode(value);
    else if (number === 2 && value instanceof Uint8Array) content = value;
  });
  return { type: type.slice(type.lastIndexOf('/') + 1), value: content };
}

export function eachProtoField(bytes: Uint8Array, take: (number: number, value: number | Uint8Array) => void): void {
  const cursor = new ProtoCursor(bytes);
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if ((tag & 7) === 0) take(tag >>> 3, cursor.readInt64());
    else if ((tag & 7) === 2) take(tag >>> 3, cursor.readBytes());
    else cursor.skip(tag);
  }
}
