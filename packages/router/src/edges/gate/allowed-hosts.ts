/**
 * The names that a port answers for. A page whose own name was made to resolve to this machine (DNS rebinding) is of
 * the same origin for its browser; all that gives it away is the name in Host.
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
  /** Every host is allowed: the server is reachable by names that nobody told it. */
  readonly isOpen: boolean;
  readonly #names = new Set<string>();
  readonly #suffixes: string[] = [];
  readonly #isEveryAddress: boolean;

  constructor({ listed, written, bound }: AllowedHostsOptions) {
    const isLoopback = isLoopbackHost(hostFromName(bound) ?? '');
    this.isOpen = listed.includes('*') || (listed.length === 0 && !isLoopback);
    // Who listens on every address is addressed by all of them, and an address cannot be rebound.
    this.#isEveryAddress = bound === '0.0.0.0' || bound === '::';
    for (const name of [...listed, written, bound]) {
      const host = hostFromName(name.replace(/^\*\./, ''));
      if (host === undefined) continue;
      if (name.startsWith('*.')) this.#suffixes.push(`.${host}`);
      else this.#names.add(host);
    }
  }

  /** A request without a Host comes from no browser: it is a probe, or a program of the days of HTTP/1.0. */
  allows(authority: string): boolean {
    if (this.isOpen || authority === '') return true;
    const host = hostFrom(authority);
    if (host === undefined) return false;
    if (isLoopbackHost(host) || this.#names.has(host)) return true;
    if (this.#isEveryAddress && isAddress(host)) return true;
    return this.#suffixes.some((suffix) => host.endsWith(suffix));
  }
}

/** On a Unix socket the name means nothing, and no page gets there. */
export const everyHost = new AllowedHosts({ listed: ['*'], written: '', bound: '' });
