/** Which page made a browser send a request, by the header fields that pages cannot set. */
import type { HeaderFields } from '@millrace/http';

/**
 * `own`: a page of this server's own origin. `listed`: a page of an allowed origin. `person`: a user who typed
 * the address or followed a link. `foreign`: any other page.
 */
export type PageCaller = 'own' | 'listed' | 'person' | 'foreign';

export type AllowedOrigins = '*' | readonly string[];

export const originField = 'origin';
/** Not `sec-fetch-mode`, which the fetch of Node.js sends as well. */
export const siteField = 'sec-fetch-site';

export interface PageRequest {
  readonly method: string;
  readonly authority: string;
  readonly headers: HeaderFields;
}

/** Undefined: neither field is present, so a program sent it, not a page. */
export function pageCallerOf(request: PageRequest, origins: AllowedOrigins): PageCaller | undefined {
  const { headers, authority } = request;
  const allOrigins = headers.getAll(originField);
  const allSites = headers.getAll(siteField);
  const [origin] = allOrigins;
  const [site] = allSites;
  if (origin === undefined && site === undefined) return undefined;
  // A browser sends each once.
  if (allOrigins.length > 1 || allSites.length > 1) return 'foreign';
  const isNear = site === undefined || site === 'same-origin' || site === 'none';
  if (origin !== undefined) {
    if (isNear && isOwnOrigin(origin, authority)) return 'own';
    return origins === '*' || origins.includes(origin) ? 'listed' : 'foreign';
  }
  if (site === 'same-origin') return 'own';
  if (site === 'none' || isLinkFollowed(request)) return 'person';
  // Without an origin, a page is allowed only where every origin is.
  return origins === '*' ? 'listed' : 'foreign';
}

const originForm = /^(https?):\/\/([^/?#@\s]+)$/;
const defaultPorts: Readonly<Record<string, string>> = { http: ':80', https: ':443' };

/** By host and port; the scheme may be another behind a proxy that ends TLS. */
function isOwnOrigin(origin: string, authority: string): boolean {
  const [, scheme = '', originAuthority = ''] = originForm.exec(origin) ?? [];
  if (originAuthority === '' || authority === '') return false;
  const port = defaultPorts[scheme] as string;
  return withoutPort(originAuthority, port) === withoutPort(authority, port);
}

function withoutPort(authority: string, port: string): string {
  const lower = authority.toLowerCase();
  return lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
}

/** A link to something readable: the answer is shown to a person, and the page that has the link cannot read it. */
function isLinkFollowed({ method, headers }: PageRequest): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers.get('sec-fetch-mode') === 'navigate' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}

const simpleTypes = new Set(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']);

/** Whether a browser posts this for any page, without asking the server first (a preflight). */
export function isSimplePost({ method, headers }: PageRequest): boolean {
  if (method !== 'POST') return false;
  const [type = ''] = (headers.get('content-type') ?? '').split(';', 1);
  const essence = type.trim().toLowerCase();
  return essence === '' || simpleTypes.has(essence);
}
