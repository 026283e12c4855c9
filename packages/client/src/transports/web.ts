/** The transports that every platform has. */
import { EventLinks } from './events/event-links.ts';
import { FetchCalls } from './fetch/fetch-calls.ts';
import type { TransportFactory } from './transport.ts';
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

function fetchFrom(options: FetchTransportOptions): typeof fetch {
  return options.fetch ?? ((input, init) => fetch(input, init));
}

/** What a page gets that chooses nothing. Header fields need events: a WebSocket of a browser sends none. */
export function webTransport(hasHeaders: boolean): TransportFactory {
  const hasSocket = 'WebSocket' in globalThis;
  return hasSocket && !hasHeaders ? webSocketTransport() : eventTransport();
}
