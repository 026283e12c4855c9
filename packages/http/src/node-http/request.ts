import type { IncomingMessage } from 'node:http';
import type { CancelSignal } from '@millrace/protocol';
import type { HeaderFields, HttpRequest, Peer, RequestBody } from '../exchange.ts';
import { RawHeaderFields } from '../raw-header-fields.ts';

/** A `node:http` message as the seam shows it. */
export class NodeHttpRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authority: string;
  readonly version: '1.0' | '1.1';
  readonly headers: HeaderFields;
  readonly body: RequestBody;
  readonly signal: CancelSignal;
  readonly peer: Peer;
  readonly #message: IncomingMessage;

  constructor(message: IncomingMessage, body: RequestBody, signal: CancelSignal) {
    const target = splitTarget(message.url ?? '/');
    this.method = message.method ?? 'GET';
    this.path = target.path;
    this.query = target.query;
    this.authority = target.authority ?? message.headers.host ?? '';
    this.version = message.httpVersion === '1.0' ? '1.0' : '1.1';
    this.headers = new RawHeaderFields(message.rawHeaders);
    this.body = body;
    this.signal = signal;
    this.peer = {
      address: message.socket.remoteAddress ?? '',
      port: message.socket.remotePort ?? 0,
      isEncrypted: false,
    };
    this.#message = message;
  }

  get trailers(): HeaderFields {
    return new RawHeaderFields(this.#message.rawTrailers);
  }
}

export interface RequestTarget {
  readonly path: string;
  readonly query: string;
  /** Only in the absolute form that proxies are sent: `GET http://host/path`. */
  readonly authority: string | undefined;
}

export function splitTarget(target: string): RequestTarget {
  let rest = target;
  let authority: string | undefined;
  if (!rest.startsWith('/')) {
    const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(rest);
    if (absolute !== null) {
      authority = absolute[1] ?? '';
      rest = absolute[2] ?? '';
      if (!rest.startsWith('/')) rest = `/${rest}`;
    }
  }
  const question = rest.indexOf('?');
  return question < 0
    ? { path: rest, query: '', authority }
    : { path: rest.slice(0, question), query: rest.slice(question + 1), authority };
}
