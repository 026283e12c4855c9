/** Makes a request of a decoded header block, or says why it is malformed (RFC 9113, 8.2 and 8.3). */

import { fieldKind, type HeaderField } from '@millrace/http2';
import { contentLengthFrom } from '../wire/content-length.ts';
import { FieldList } from '../wire/field-list.ts';
import type { RequestHead } from '../wire/wire-exchange.ts';

/** The request, or undefined when the block is malformed: a stream error. */
export function requestHeadFrom(fields: readonly HeaderField[], isBodyEmpty: boolean): RequestHead | undefined {
  let method: string | undefined;
  let scheme: string | undefined;
  let path: string | undefined;
  let authority: string | undefined;
  let host: string | undefined;
  let lengthBytes: number | undefined;
  let first = 0;
  let cookies = 0;
  for (; first < fields.length; first++) {
    const field = fields[first] as HeaderField;
    const kind = field.kind;
    if (!field.isValid) return undefined;
    if (kind === fieldKind.method && method === undefined) method = field.value;
    else if (kind === fieldKind.path && path === undefined) path = field.value;
    else if (kind === fieldKind.scheme && scheme === undefined) scheme = field.value;
    else if (kind === fieldKind.authority && authority === undefined) authority = field.value;
    else if (kind >= fieldKind.method && kind <= fieldKind.unknownPseudo) return undefined;
    else break;
  }
  for (let at = first; at < fields.length; at++) {
    const field = fields[at] as HeaderField;
    if (!field.isValid) return undefined;
    const kind = field.kind;
    if (kind === fieldKind.regular) continue;
    if (kind <= fieldKind.connectionSpecific) return undefined;
    if (kind === fieldKind.te) {
      if (field.value !== 'trailers') return undefined;
    } else if (kind === fieldKind.contentLength) {
      const length = contentLengthFrom(field.value);
      if (length === undefined || (lengthBytes !== undefined && lengthBytes !== length)) return undefined;
      lengthBytes = length;
    } else if (kind === fieldKind.host) {
      if (host !== undefined && host !== field.value) return undefined;
      host = field.value;
    } else if (kind === fieldKind.cookie) cookies++;
  }
  if (isBodyEmpty) {
    if (lengthBytes !== undefined && lengthBytes > 0) return undefined;
    lengthBytes = 0;
  }
  if (method === undefined || method === '') return undefined;
  if (method === 'CONNECT') {
    // CONNECT has an authority only; this server offers no tunnels, but the request is well-formed.
    if (authority === undefined || scheme !== undefined || path !== undefined) return undefined;
    path = '';
  } else if (scheme === undefined || path === undefined || path === '') return undefined;
  else if (path.charCodeAt(0) !== 47 && !(path === '*' && method === 'OPTIONS')) return undefined;
  if (authority !== undefined && host !== undefined && authority !== host) return undefined;
  const mark = path.indexOf('?');
  const regular = fields.slice(first);
  return {
    method,
    path: mark < 0 ? path : path.slice(0, mark),
    query: mark < 0 ? '' : path.slice(mark + 1),
    authority: authority ?? host ?? '',
    version: '2',
    headers: new FieldList(cookies > 1 ? withJoinedCookies(regular) : regular),
    lengthBytes,
  };
}

/** Trailers may contain no pseudo-header and no connection-specific field. */
export function areTrailers(fields: readonly HeaderField[]): boolean {
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] as HeaderField;
    if (!field.isValid || (field.kind >= fieldKind.method && field.kind <= fieldKind.connectionSpecific)) return false;
  }
  return true;
}

/** HTTP/2 clients may split one cookie field into several; applications expect it whole (8.2.3). */
function withJoinedCookies(fields: readonly HeaderField[]): readonly HeaderField[] {
  const crumbs = fields.filter((field) => field.kind === fieldKind.cookie);
  const first = crumbs[0] as HeaderField;
  const value = crumbs.map((field) => field.value).join('; ');
  const rest = fields.filter((field) => field.kind !== fieldKind.cookie);
  return [...rest, { name: first.name, value, kind: first.kind, isValid: true }];
}
