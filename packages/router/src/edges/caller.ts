/** Whose request it is, as far as an edge can tell: for limits and fairness, not for trust. */
import { type AddressRanges, type HeaderFields, noAddresses, ownerOfAddress, type Peer } from '@millrace/http';
import { takeForwardedAddress } from './forwarded-address.ts';

/** Longer names are cut: they are kept for as long as their requests wait. */
export const callerLengthMax = 128;

type Headers = Pick<HeaderFields, 'get' | 'getAll'>;

export interface CallerOptions {
  /** The header or metadata field that names the caller; empty: none does. */
  readonly header?: string;
  /** Proxies whose word is believed. Empty: nothing but the header field above, and that from anybody. */
  readonly trustedProxies?: AddressRanges;
}

/**
 * The caller of a request is the owner of its connection, unless someone is believed who says otherwise: with a header
 * field, what that says; otherwise, from a trusted proxy, the address in X-Forwarded-For that the proxy vouches for.
 * With a list of trusted proxies nothing is believed of anybody else.
 */
export class CallerRule {
  readonly #header: string;
  readonly #proxies: AddressRanges;

  constructor({ header = '', trustedProxies = noAddresses }: CallerOptions = {}) {
    this.#header = header;
    this.#proxies = trustedProxies;
  }

  /** Whether the header fields have a say: asking for them costs a request something. */
  readsHeaders(peer: Peer): boolean {
    return this.#proxies.isEmpty ? this.#header !== '' : peer.isTrustedProxy;
  }

  callerOf(headers: Headers, peer: Peer): string {
    if (!this.readsHeaders(peer)) return peer.owner;
    if (this.#header === '') return this.#forwardedFor(headers) ?? peer.owner;
    const named = headers.get(this.#header);
    if (named === undefined || named === '') return peer.owner;
    return named.length > callerLengthMax ? named.slice(0, callerLengthMax) : named;
  }

  #forwardedFor(headers: Headers): string | undefined {
    const address = takeForwardedAddress(headers.getAll('x-forwarded-for'), this.#proxies);
    return address === undefined ? undefined : ownerOfAddress(address);
  }
}
