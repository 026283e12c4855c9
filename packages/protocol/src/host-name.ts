/** Host names of requests and configuration in a normal form, so that they can be compared. */
/** Characters that no host with a port may contain: user information, paths, escapes of the URL parser. */
const notInAuthority = /[\s/\\?#@]/;

/**
 * The host that an authority names: lower case, without port, brackets or trailing dot, addresses in the form of the
 * URL standard (`127.1` is `127.0.0.1`). Undefined: it is not a valid host.
 */
export function hostFrom(authority: string): string | undefined {
  if (authority === '' || notInAuthority.test(authority)) return undefined;
  const address = `http://${authority}`;
  if (!URL.canParse(address)) return undefined;
  const host = withoutBrackets(new URL(address).hostname);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

/** The same for a bare address or name, as in a configuration: an IPv6 address needs no brackets there. */
export function hostFromName(name: string): string | undefined {
  return hostFrom(name.includes(':') ? `[${name}]` : name);
}

const isIpv4 = /^\d+\.\d+\.\d+\.\d+$/;

/** Whether a host in the form of `hostFrom` is an address. */
export function isAddress(host: string): boolean {
  return host.includes(':') || isIpv4.test(host);
}

/** Whether a host in the form of `hostFrom` can only be this machine. */
export function isLoopbackHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  if (isIpv4.test(host)) return host.startsWith('127.');
  // An IPv4 address inside IPv6, as the URL standard writes it.
  return host === '::1' || /^::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}$/.test(host);
}

/** Whether an address to listen on, or the name of one, is reachable from this machine only. */
export function isLoopbackName(name: string): boolean {
  const host = hostFromName(name);
  return host !== undefined && isLoopbackHost(host);
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}
