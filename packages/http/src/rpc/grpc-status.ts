/** The end of a gRPC call as header fields, for trailers or for a head without a body. */
import { delimitedHead } from '@millrace/protocol';
import type { HeaderList } from '../exchange.ts';
import { unpaddedBase64From } from './metadata.ts';
import type { ErrorDetail, RpcError } from './rpc-error.ts';
import { statusCodes } from './status.ts';

const okFields: HeaderList = [['grpc-status', '0']];

export function grpcStatusFields(error: RpcError | undefined, trailing: HeaderList): HeaderList {
  if (error === undefined) return trailing.length === 0 ? okFields : [...okFields, ...trailing];
  const fields: [string, string][] = [['grpc-status', String(statusCodes[error.code].grpc)]];
  if (error.message !== '') fields.push(['grpc-message', percentEncode(error.message)]);
  if (error.details.length > 0) fields.push(['grpc-status-details-bin', unpaddedBase64From(encodeStatus(error))]);
  return [...fields, ...trailing];
}

/**
 * UTF-8 with everything but printable ASCII, and the percent sign itself, as %XX. So is a space at either end: HTTP/2
 * does not allow such field values, and some clients drop the whole field.
 */
export function percentEncode(message: string): string {
  if (/^(?! )[\x20-\x24\x26-\x7e]*(?<! )$/.test(message)) return message;
  const bytes = Buffer.from(message, 'utf8');
  let text = '';
  for (const [index, byte] of bytes.entries()) {
    const isAtEnd = index === 0 || index === bytes.length - 1;
    const isPlain = byte >= (isAtEnd ? 0x21 : 0x20) && byte <= 0x7e && byte !== 0x25;
    text += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** A google.rpc.Status in protobuf's binary form: code 1, message 2, details 3 (each an Any: type URL 1, value 2). */
export function encodeStatus({ code, message, details }: RpcError): Uint8Array {
  const fields: Uint8Array[] = [Uint8Array.of(0x08, statusCodes[code].grpc)];
  if (message !== '') fields.push(delimited(2, Buffer.from(message, 'utf8')));
  for (const detail of details) fields.push(delimited(3, encodeAny(detail)));
  return Buffer.concat(fields);
}

function encodeAny({ type, value }: ErrorDetail): Uint8Array {
  const url = delimited(1, Buffer.from(`type.googleapis.com/${type}`, 'utf8'));
  return value.length === 0 ? url : Buffer.concat([url, delimited(2, value)]);
}

function delimited(field: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([delimitedHead(field, bytes.length), bytes]);
}
