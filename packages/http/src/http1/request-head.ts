/** The head of an HTTP/1.1 request (RFC 9112, 3 and 6): its target, how its body is framed, or why it is refused. */

import { fieldKind, type HeaderField, isAuthority, tokenBytes } from '@millrace/http2';
import type { HttpLimits } from '../wire/config.ts';
import { contentLengthFrom } from '../wire/content-length.ts';
import { FieldList } from '../wire/field-list.ts';
import type { RequestHead } from '../wire/wire-exchange.ts';
import { readFieldLines } from './field-lines.ts';
import { Http1Refusal } from './refusal.ts';

export interface Http1Head extends RequestHead {
  readonly version: '1.0' | '1.1';
  readonly isChunked: boolean;
  /** The client keeps the connection open after this request. */
  readonly isKept: boolean;
  /** The client waits for a 100 before it sends the body. */
  readonly isContinueDue: boolean;
  /** The client asks for another protocol. */
  readonly isUpgrade: boolean;
}

/** The bytes are of another protocol: the connection is closed without an answer, which would be misread. */
export const notHttp = new Http1Refusal(400, 'not HTTP');

const space = 32;
const absoluteTarget = /^https?:\/\/([^/?#]+)([/?].*)?$/i;
const bodyCodings = /^(?:(?:x-)?gzip|(?:x-)?compress|deflate)$/;

/** Reads `bytes[start, end)`: the request line and the field lines, without the empty line behind them. */
export function readRequestHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: HttpLimits,
): Http1Head | Http1Refusal {
  const text = bytes.toString('latin1', start, end);
  let at = start;
  while ((tokenBytes[bytes[at] as number] as number) > 0) at++;
  if (at === start || bytes[at] !== space)
    return new Http1Refusal(400, 'the request line has no method; begin it with one');
  const method = text.slice(0, at - start);
  const targetStart = ++at;
  let byte = bytes[at] as number;
  while (byte > space && byte < 127 && byte !== 35) byte = bytes[++at] as number;
  if (at === targetStart || byte !== space) {
    return new Http1Refusal(400, 'the request target is missing or contains a character that must be percent-encoded');
  }
  const target = text.slice(targetStart - start, at - start);
  at++;
  const lineEnd = bytes.indexOf(13, at);
  if (lineEnd < 0 || lineEnd >= end || bytes[lineEnd + 1] !== 10)
    return new Http1Refusal(400, 'the request line has no end');
  const version = text.slice(at - start, lineEnd - start);
  if (version !== 'HTTP/1.1' && version !== 'HTTP/1.0') {
    if (/^HTTP\/[0-9]\.[0-9]$/.test(version))
      return new Http1Refusal(505, 'this server supports HTTP/1.0, 1.1 and 2 only');
    if (/ HTTP\//.test(version)) return new Http1Refusal(400, 'the request target contains a space; percent-encode it');
    if (!/^HTTP\//i.test(version)) return notHttp;
    return new Http1Refusal(400, 'the request line does not end in a version such as HTTP/1.1');
  }
  const fields: HeaderField[] = [];
  const refusal = readFieldLines(bytes, lineEnd + 2, end, text, start, fields, limits);
  if (refusal !== undefined) return refusal;
  return completeHead(method, target, version === 'HTTP/1.1' ? '1.1' : '1.0', fields);
}

function completeHead(
  method: string,
  target: string,
  version: '1.0' | '1.1',
  fields: HeaderField[],
): Http1Head | Http1Refusal {
  let host: string | undefined;
  let lengthBytes: number | undefined;
  let coding: string | undefined;
  let connection = '';
  let hasUpgrade = false;
  let expect: string | undefined;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] as HeaderField;
    if (field.kind === fieldKind.regular) continue;
    if (field.kind === fieldKind.host) {
      if (host !== undefined) return new Http1Refusal(400, 'there is more than one Host header; send one');
      if (!isAuthority(field.value))
        return new Http1Refusal(400, 'the Host header is not a host with an optional port');
      host = field.value;
    } else if (field.kind === fieldKind.contentLength) {
      const length = contentLengthFrom(field.value);
      if (length === undefined) return new Http1Refusal(400, 'the Content-Length is not a plain number');
      if (lengthBytes !== undefined)
        return new Http1Refusal(400, 'there is more than one Content-Length header; send one');
      lengthBytes = length;
    } else if (field.kind === fieldKind.expect) expect = field.value.toLowerCase();
    else if (field.name === 'connection') connection += `,${field.value.toLowerCase()}`;
    else if (field.name === 'upgrade') hasUpgrade = field.value !== '';
    else if (field.name === 'transfer-encoding') {
      if (coding !== undefined)
        return new Http1Refusal(400, 'there is more than one Transfer-Encoding header; send one');
      coding = field.value.toLowerCase();
    }
  }
  if (coding !== undefined) {
    const refusal = refuseCoding(coding, version, lengthBytes !== undefined);
    if (refusal !== undefined) return refusal;
  }
  if (host === undefined && version === '1.1')
    return new Http1Refusal(400, 'HTTP/1.1 requires a Host header; send one');
  const parts = targetFrom(method, target, host);
  if (parts instanceof Http1Refusal) return parts;
  const isContinueDue = expect !== undefined && version === '1.1';
  if (isContinueDue && expect !== '100-continue')
    return new Http1Refusal(417, 'the only supported Expect value is 100-continue');
  const options = connection === '' ? [] : connection.split(',').map((option) => option.trim());
  const isChunked = coding !== undefined;
  return {
    method,
    path: parts.path,
    query: parts.query,
    authority: parts.authority,
    version,
    headers: new FieldList(fields),
    lengthBytes: isChunked ? undefined : (lengthBytes ?? 0),
    isChunked,
    isKept:
      version === '1.1' ? !options.includes('close') : options.includes('keep-alive') && !options.includes('close'),
    isContinueDue: isContinueDue && (isChunked || (lengthBytes ?? 0) > 0),
    isUpgrade: hasUpgrade && version === '1.1' && options.includes('upgrade') && !isChunked && (lengthBytes ?? 0) === 0,
  };
}

function refuseCoding(coding: string, version: '1.0' | '1.1', hasLength: boolean): Http1Refusal | undefined {
  if (version === '1.0') return new Http1Refusal(400, 'HTTP/1.0 has no Transfer-Encoding; declare a Content-Length');
  if (hasLength) return new Http1Refusal(400, 'both Content-Length and Transfer-Encoding are set; send one');
  if (coding === 'chunked') return undefined;
  const codings = coding.split(',').map((one) => one.trim());
  const isKnown = codings.pop() === 'chunked' && codings.every((one) => bodyCodings.test(one));
  return isKnown
    ? new Http1Refusal(501, 'the only supported Transfer-Encoding is chunked; use Content-Encoding')
    : new Http1Refusal(400, 'the Transfer-Encoding is not chunked');
}

interface TargetParts {
  readonly path: string;
  readonly query: string;
  readonly authority: string;
}

function targetFrom(method: string, target: string, host: string | undefined): TargetParts | Http1Refusal {
  if (method === 'CONNECT') return new Http1Refusal(501, 'CONNECT is not supported; this server opens no tunnels');
  if (target.charCodeAt(0) === 47) return split(target, host ?? '');
  if (target === '*') {
    if (method === 'OPTIONS') return { path: '*', query: '', authority: host ?? '' };
    return new Http1Refusal(400, 'the request target * is allowed for OPTIONS only');
  }
  const absolute = absoluteTarget.exec(target);
  if (absolute === null) return new Http1Refusal(400, 'the request target is neither a path nor an http URL');
  const authority = absolute[1] as string;
  if (!isAuthority(authority) || authority.startsWith(':')) {
    return new Http1Refusal(400, 'the URL in the request target has no valid host');
  }
  if (host !== undefined && host.toLowerCase() !== authority.toLowerCase()) {
    return new Http1Refusal(400, 'the Host and the request target name different hosts; send the same');
  }
  const rest = absolute[2] ?? '/';
  return split(rest.startsWith('/') ? rest : `/${rest}`, authority);
}

function split(target: string, authority: string): TargetParts {
  const mark = target.indexOf('?');
  if (mark < 0) return { path: target, query: '', authority };
  return { path: target.slice(0, mark), query: target.slice(mark + 1), authority };
}
