/** The client for Node: what index.ts has, over gRPC unless another transport is asked for. */
import type { Client, ClientOptions } from './client.ts';
import { createClientWith } from './create-client.ts';
import type { AnyModels, ModelTypes } from './model-types.ts';
import { grpcTransport } from './transports/grpc/index.ts';

/** `createClient('http://localhost:8000')`, or with several `endpoints`. */
function createClient<Models extends ModelTypes<Models> = AnyModels>(
  url: string | URL | ClientOptions,
  options: ClientOptions = {},
): Client<Models> {
  return createClientWith<Models>(url, options, () => grpcTransport());
}

export * from './public.ts';
// One name, whatever the platform: index.ts has the other.
export { createClient };
