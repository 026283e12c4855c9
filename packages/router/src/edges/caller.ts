/** Identifies the caller of a request as far as an edge can: for limits and fairness, not for authentication. */
import { type AddressRanges, type HeaderFields, noAddresses, ownerOfAddress, type Peer } from '@millrace/http';
import { takeForwardedAddress } from './forwarded-address.ts';

/** Longer names are cut: they are kept for as long as their requests wait. */
export const callerLengthMax = 128;

type Headers = Pick<HeaderFields, 'get' | 'getAll'>;

export interface CallerOptions {
  /** The header or metadata field that names the caller; empty: none. */
  readonly header?: string;
  /** Trusted proxies. Empty: only the header field above is used, and it is accepted from anyone. */
  readonly trustedProxies?: AddressRanges;
}

/**
 * The caller of a request is the owner of its connection, unless a trusted source says otherwise: with a header
 * field, its value; otherwise, from a trusted proxy, the address in X-Forwarded-For that the proxy added.
 * With a list of trusted proxies, both are ignored from everyone else.
 */
export class CallerRule {
  readonly #header: string;
  readonly #proxies: AddressRanges;

  constructor({ header = '', trustedProxies = noAddresses }: CallerOptions = {}) {
    this.#header = header;
    this.#proxies = trustedProxies;
  }

  /** Whether the caller of every request is the owner of its connection. */
  get isByConnection(): boolean {
    return this.#header === '' && this.#proxies.isEmpty;
  }

  /** Whether header fields are needed: reading them costs time in each request. */
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
