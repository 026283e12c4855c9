/**
 * The host names that a port accepts. A page whose own name was made to resolve to this machine (DNS rebinding) has
 * the same origin for its browser; only the name in Host reveals it.
 */
import { hostFrom, hostFromName, isAddress, isLoopbackHost } from '@millrace/protocol';

export interface AllowedHostsOptions {
  /** What the operator listed: names, addresses, `*.example.com`; `*` allows every host. */
  readonly listed: readonly string[];
  /** The address or name to listen on, as the operator wrote it. */
  readonly written: string;
  /** The address that is listened on. */
  readonly bound: string;
}

export class AllowedHosts {
  /** Every host is allowed: the server is reachable by names that are not configured. */
  readonly isOpen: boolean;
  readonly #names = new Set<string>();
  readonly #suffixes: string[] = [];
  readonly #isEveryAddress: boolean;

  constructor({ listed, written, bound }: AllowedHostsOptions) {
    const isLoopback = isLoopbackHost(hostFromName(bound) ?? '');
    this.isOpen = listed.includes('*') || (listed.length === 0 && !isLoopback);
    // A server on all interfaces may be called by any of its addresses, and an address cannot be rebound.
    this.#isEveryAddress = bound === '0.0.0.0' || bound === '::';
    for (const name of [...listed, written, bound]) {
      const host = hostFromName(name.replace(/^\*\./, ''));
      if (host === undefined) continue;
      if (name.startsWith('*.')) this.#suffixes.push(`.${host}`);
      else this.#names.add(host);
    }
  }

  /** A request without a Host does not come from a browser: it is a probe, or an HTTP/1.0 client. */
  allows(authority: string): boolean {
    if (this.isOpen || authority === '') return true;
    const host = hostFrom(authority);
    if (host === undefined) return false;
    if (isLoopbackHost(host) || this.#names.has(host)) return true;
    if (this.#isEveryAddress && isAddress(host)) return true;
    return this.#suffixes.some((suffix) => host.endsWith(suffix));
  }
}

/** On a Unix socket the name has no meaning, and no page can reach it. */
export const everyHost = new AllowedHosts({ listed: ['*'], written: '', bound: '' });
