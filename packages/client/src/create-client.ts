import { Client, type ClientOptions } from './client.ts';
import type { ModelTypes } from './model-types.ts';
import type { TransportFactory } from './transports/transport.ts';

/** What the entry points have in common: they differ in the transport that they choose. */
export function createClientWith<Models extends ModelTypes<Models>>(
  url: string | URL | ClientOptions,
  options: ClientOptions,
  chooseTransport: (options: ClientOptions) => TransportFactory,
): Client<Models> {
  const isUrl = typeof url === 'string' || url instanceof URL;
  // A variable of the environment may be undefined: then there is no endpoint.
  const given = isUrl ? options : ((url as ClientOptions | undefined) ?? {});
  const urls = isUrl ? [url, ...(given.endpoints ?? [])] : (given.endpoints ?? []);
  return new Client<Models>(urls, given.transport ?? chooseTransport(given), given);
}
