/** The static table of RFC 7541, appendix A, in the forms that decoder and encoder need. */
import { fieldKindOf, HeaderField } from '../header-field.ts';

const rows: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

export const staticCount = rows.length;

/** By index minus one. */
export const staticFields: readonly HeaderField[] = rows.map(
  ([name, value]) => new HeaderField(name, value, fieldKindOf(name), name !== ':status'),
);

/** The first index of each name. */
export const staticNames: ReadonlyMap<string, number> = new Map(
  rows.map(([name], at): [string, number] => [name, at + 1]).reverse(),
);

/** The index of a complete status field, by its code. */
export const staticStatuses: ReadonlyMap<number, number> = new Map(
  rows.flatMap(([name, value], at): [number, number][] => (name === ':status' ? [[Number(value), at + 1]] : [])),
);
