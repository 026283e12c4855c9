/** The transports that every platform has. */
import { EventLinks } from './events/event-links.ts';
import { FetchCalls } from './fetch/fetch-calls.ts';
import { RpcCallTransport } from './rpc/inference-calls.ts';
import { messageBytesMaxDefault } from './rpc/message-reader.ts';
import type { RpcCaller } from './rpc/rpc-call.ts';
import type { TransportFactory } from './transport.ts';
import { ConnectCaller } from './web-rpc/connect-caller.ts';
import type { FetchTarget } from './web-rpc/fetch-call.ts';
import { GrpcWebCaller } from './web-rpc/grpc-web-caller.ts';
import { RpcLinks } from './web-rpc/rpc-links.ts';
import { SocketLinks, type WebSocketClass } from './websocket/socket-links.ts';

export interface FetchTransportOptions {
  /** Instead of the platform's. */
  readonly fetch?: typeof fetch;
}

export interface WebSocketTransportOptions extends FetchTransportOptions {
  /** Instead of the platform's, which Node has from version 22 on: for Node 20 the one of the package `ws`. */
  readonly WebSocket?: unknown;
}

/** Calls by `fetch`, streams as server-sent events. Works wherever there is HTTP. */
export function eventTransport(options: FetchTransportOptions = {}): TransportFactory {
  const fetchFunction = fetchFrom(options);
  return (url) => ({
    url: url.href,
    calls: new FetchCalls(url, fetchFunction),
    links: new EventLinks(url, fetchFunction),
  });
}

/** Calls by `fetch`, streams over WebSocket. */
export function webSocketTransport(options: WebSocketTransportOptions = {}): TransportFactory {
  const fetchFunction = fetchFrom(options);
  const socketClass = options.WebSocket ?? (globalThis as { readonly WebSocket?: unknown }).WebSocket;
  if (typeof socketClass !== 'function') {
    throw new TypeError('this platform has no WebSocket: pass the class of the package ws, or use eventTransport()');
  }
  // Only a class that was passed can be one that takes header fields.
  const takesHeaders = options.WebSocket !== undefined;
  return (url) => ({
    url: url.href,
    calls: new FetchCalls(url, fetchFunction),
    links: new SocketLinks(url, socketClass as WebSocketClass, takesHeaders),
  });
}

export interface WebRpcTransportOptions extends FetchTransportOptions {
  /** The longest message that is read. */
  readonly messageBytesMax?: number;
}

/** Calls and streams over Connect, by `fetch`; inputs of streams are requests of their own. */
export function connectTransport(options: WebRpcTransportOptions = {}): TransportFactory {
  return webRpcTransport(options, (target) => new ConnectCaller(target));
}

/** Calls and streams over gRPC-Web, by `fetch`, for what stands behind proxies for it; inputs of streams are requests of their own. */
export function grpcWebTransport(options: WebRpcTransportOptions = {}): TransportFactory {
  return webRpcTransport(options, (target) => new GrpcWebCaller(target));
}

function webRpcTransport(
  options: WebRpcTransportOptions,
  callerFor: (target: FetchTarget) => RpcCaller,
): TransportFactory {
  return (url) => {
    const target = targetFrom(url, options);
    const caller = callerFor(target);
    return { url: url.href, calls: new RpcCallTransport(caller), links: new RpcLinks(caller, target) };
  };
}

function targetFrom(url: URL, options: WebRpcTransportOptions): FetchTarget {
  return {
    base: url.href.replace(/\/$/, ''),
    fetch: fetchFrom(options),
    messageBytesMax: options.messageBytesMax ?? messageBytesMaxDefault,
  };
}

function fetchFrom(options: FetchTransportOptions): typeof fetch {
  return options.fetch ?? ((input, init) => fetch(input, init));
}

/**
 * What a page gets that chooses nothing. A WebSocket of a browser sends no header fields: where there are some, streams go
 * over Connect, whose tensors are binary.
 */
export function webTransport(hasHeaders: boolean): TransportFactory {
  if ('WebSocket' in globalThis && !hasHeaders) return webSocketTransport();
  return (url) => {
    const target = targetFrom(url, {});
    const links = new RpcLinks(new ConnectCaller(target), target);
    return { url: url.href, calls: new FetchCalls(url, target.fetch), links };
  };
}
