/**
 * One header field, immutable and shared: an HPACK table entry is handed out as it is, so a field a client repeats on
 * every request is validated once per connection and allocated once.
 */

/** The meaning of a name to the transport; every name that it does not act on is `regular`. */
export const fieldKind = {
  regular: 0,
  method: 1,
  scheme: 2,
  authority: 3,
  path: 4,
  unknownPseudo: 5,
  connectionSpecific: 6,
  te: 7,
  contentLength: 8,
  host: 9,
  expect: 10,
  cookie: 11,
} as const;

export type FieldKind = (typeof fieldKind)[keyof typeof fieldKind];

export class HeaderField {
  readonly name: string;
  readonly value: string;
  readonly kind: FieldKind;
  /** Whether name and value keep to the grammar; a request with a field that does not is malformed. */
  readonly isValid: boolean;

  constructor(name: string, value: string, kind: FieldKind, isValid: boolean) {
    this.name = name;
    this.value = value;
    this.kind = kind;
    this.isValid = isValid;
  }
}

const kindsByName = new Map<string, FieldKind>([
  [':method', fieldKind.method],
  [':scheme', fieldKind.scheme],
  [':authority', fieldKind.authority],
  [':path', fieldKind.path],
  ['connection', fieldKind.connectionSpecific],
  ['keep-alive', fieldKind.connectionSpecific],
  ['proxy-connection', fieldKind.connectionSpecific],
  ['transfer-encoding', fieldKind.connectionSpecific],
  ['upgrade', fieldKind.connectionSpecific],
  ['te', fieldKind.te],
  ['content-length', fieldKind.contentLength],
  ['host', fieldKind.host],
  ['expect', fieldKind.expect],
  ['cookie', fieldKind.cookie],
]);

export function fieldKindOf(name: string): FieldKind {
  return kindsByName.get(name) ?? (name.charCodeAt(0) === 58 ? fieldKind.unknownPseudo : fieldKind.regular);
}

/** 1 where a byte may occur in a token (RFC 9110, 5.6.2), 2 where it may once lower-cased. */
export const tokenBytes = new Uint8Array(256);
for (const character of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz") tokenBytes[character.charCodeAt(0)] = 1;
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') tokenBytes[character.charCodeAt(0)] = 2;

/** Whether a name is a lower-case token, a pseudo-header's colon allowed. */
export function isLowerCaseName(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === 58 ? start + 1 : start;
  if (at >= end) return false;
  for (; at < end; at++) if (tokenBytes[bytes[at] as number] !== 1) return false;
  return true;
}

/** Whether a value holds no control character but tab, and no white space at either end (RFC 9110, 5.5). */
export function isFieldValue(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if ((byte < 32 && byte !== 9) || byte === 127) return false;
  }
  if (start === end) return true;
  const first = bytes[start];
  const last = bytes[end - 1];
  return first !== 32 && first !== 9 && last !== 32 && last !== 9;
}

const transportFields = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Fields of a response that the transport sets itself, or that HTTP/2 does not have. */
export function isTransportField(name: string): boolean {
  return transportFields.has(name);
}

// The pattern matches control characters on purpose: they must never be sent.
// biome-ignore lint/suspicious/noControlCharactersInRegex: see above
const unsendableValue = /[\0-\x08\x0a-\x1f\x7f\u0100-\uffff]/;
const sendableName = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;

/** Throws for a response field that would break the framing: that is a bug in the application, and must not be sent. */
export function mustBeSendable(name: string, value: string): void {
  if (!sendableName.test(name)) {
    throw new TypeError(`the response field name ${JSON.stringify(name)} is not a lower-case token; rename it`);
  }
  if (unsendableValue.test(value)) {
    throw new TypeError(
      `the value of the response field ${name} contains a control character or one above U+00FF; encode it first`,
    );
  }
}
