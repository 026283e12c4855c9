/** Which characters the parts of a request target may have, the same for all versions: differences allow smuggling. */
import { type FieldKind, fieldKind } from './header-field.ts';

const hostWithPort = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=%]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII without the hash that would begin a fragment. */
const target = /^[!-"$-~]+$/;
const scheme = /^[A-Za-z][A-Za-z0-9+\-.]*$/;

/** A host with an optional port, or nothing; no user information. */
export function isAuthority(value: string): boolean {
  return hostWithPort.test(value);
}

/** Whether a pseudo-header's value is one that HTTP/1.1 could have sent. */
export function isPseudoValue(kind: FieldKind, value: string): boolean {
  if (kind === fieldKind.path) return target.test(value);
  if (kind === fieldKind.authority) return isAuthority(value);
  if (kind === fieldKind.method) return token.test(value);
  if (kind === fieldKind.scheme) return scheme.test(value);
  return true;
}
