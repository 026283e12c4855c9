/** gRPC over HTTP/2 of our own, for Node. */
import { RpcCallTransport } from '../rpc/inference-calls.ts';
import type { TransportFactory } from '../transport.ts';
import { ConnectionPool, type GrpcTransportOptions } from './connection-pool.ts';
import { GrpcLinkTransport } from './grpc-links.ts';

export type { GrpcTransportOptions } from './connection-pool.ts';

/** Calls and streams over gRPC: `http://` is HTTP/2 without TLS. Connections that nobody uses do not keep the program alive. */
export function grpcTransport(options: GrpcTransportOptions = {}): TransportFactory {
  return (url) => {
    if (url.password !== '') {
      throw new TypeError(`the endpoint ${url.origin} has a password, which is not sent: give it as headers`);
    }
    if (url.pathname !== '/') {
      throw new TypeError(
        `the endpoint ${url.href} has a path, and gRPC has none: leave it out, or use connectTransport()`,
      );
    }
    const pool = new ConnectionPool(url, options);
    return { url: url.href, calls: new RpcCallTransport(pool), links: new GrpcLinkTransport(pool) };
  };
}
