/** The URL of a listener: loopback for one that listens on all addresses, `unix:PATH` for a Unix socket. */
export function serverUrl(host: string, port: number, scheme: 'http' | 'https' = 'http'): string {
  if (host.startsWith('/')) return `unix:${host}`;
  if (host === '0.0.0.0') return `${scheme}://127.0.0.1:${port}`;
  if (host === '::') return `${scheme}://[::1]:${port}`;
  return host.includes(':') ? `${scheme}://[${host}]:${port}` : `${scheme}://${host}:${port}`;
}
