/** The client for browsers, and for every other platform with `fetch`. Node gets node.ts, which chooses gRPC. */
import type { Client, ClientOptions } from './client.ts';
import { createClientWith } from './create-client.ts';
import type { AnyModels, ModelTypes } from './model-types.ts';
import { webTransport } from './transports/web.ts';

/** `createClient('http://localhost:8000')`, or with several `endpoints`. */
export function createClient<Models extends ModelTypes<Models> = AnyModels>(
  url: string | URL | ClientOptions,
  options: ClientOptions = {},
): Client<Models> {
  return createClientWith<Models>(url, options, ({ headers }) => webTransport(headers !== undefined));
}

export * from './public.ts';
