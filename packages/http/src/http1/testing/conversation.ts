/** An HTTP/1.1 connection in memory that tests use by text. */
import type { HttpLimitOptions } from '../../wire/config.ts';
import type { HostParts } from '../../wire/connection-host.ts';
import { MemoryHost } from '../../wire/testing/memory-host.ts';
import { MemoryTransport } from '../../wire/testing/memory-transport.ts';
import type { WireHandler } from '../../wire/wire-exchange.ts';
import { Http1Connection, type UpgradeSeam } from '../connection.ts';

export function converseHttp1(
  handler: WireHandler,
  options: HttpLimitOptions = {},
  upgrades?: UpgradeSeam,
  parts: HostParts = {},
) {
  const host = new MemoryHost(handler, options, parts);
  const transport = new MemoryTransport();
  const connection = new Http1Connection(host, transport, upgrades);
  return {
    host,
    transport,
    connection,
    receive: (text: string) => connection.receive(Buffer.from(text, 'latin1')),
    said: () => {
      host.settle();
      return transport
        .take()
        .toString('latin1')
        .replaceAll(/date: .*?\r\n/g, '');
    },
  };
}

/** As a transport does that reads all sockets into the same memory. */
export function receiveShared(connection: Http1Connection, text: string): void {
  const bytes = Buffer.alloc(64 * 1024, 'z');
  const count = bytes.write(text, 'latin1');
  if (!connection.receiveShared(bytes, count)) connection.receive(Buffer.from(bytes.subarray(0, count)));
  bytes.fill('z');
}

export const get = (path = '/', ...lines: string[]) =>
  ['GET ', path, ' HTTP/1.1\r\nHost: x\r\n', ...lines, '\r\n'].join('');
export const post = (...lines: string[]) => ['POST / HTTP/1.1\r\nHost: x\r\n', ...lines, '\r\n'].join('');
export const answerPath: WireHandler = (exchange) =>
  exchange.answer(200, [], Buffer.from(exchange.path), undefined, undefined);

/** Collects the body and answers with it. */
export const echo: WireHandler = (exchange) => {
  const pieces: Uint8Array[] = [];
  exchange.listener = {
    onData: (piece) => pieces.push(piece),
    onEnd: () => exchange.answer(200, [], Buffer.concat(pieces), undefined, undefined),
    onAbort: () => exchange.end(),
    onDrain: () => {},
    onRefused: () => {},
  };
  exchange.resume();
};
