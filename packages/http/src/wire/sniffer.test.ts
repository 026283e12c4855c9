/** Connections that have not told yet which version of HTTP they use. */
import { clientPreface } from '@millrace/http2';
import { getFields, headers, settings } from '@millrace/http2/testing';
import { describe, expect, test } from 'vitest';
import { Http1Connection } from '../http1/connection.ts';
import { Http2Connection } from '../http2/connection.ts';
import { drainQuietMs } from './connection-check.ts';
import { Sniffer } from './sniffer.ts';
import { MemoryHost } from './testing/memory-host.ts';
import { MemoryTransport } from './testing/memory-transport.ts';
import type { Connection } from './transport.ts';

function fresh() {
  const served: string[] = [];
  const host = new MemoryHost((exchange) => {
    served.push(exchange.path);
    exchange.answer(200, [], undefined, undefined, undefined);
  });
  const transport = new MemoryTransport();
  let connection: Connection = new Sniffer(host, transport, (isHttp2) => {
    connection = isHttp2 ? new Http2Connection(host, transport) : new Http1Connection(host, transport);
    return connection;
  });
  const receive = (bytes: Buffer): void => connection.receive(bytes);
  return { served, host, transport, sniffer: connection, receive };
}

describe('a connection that has sent nothing when the server drains', () => {
  test('has its first request answered if that was in transit, and is closed then', () => {
    const { served, host, transport, sniffer, receive } = fresh();
    sniffer.drain();
    host.pass(drainQuietMs / 2);
    receive(Buffer.from('GET /late HTTP/1.1\r\nHost: x\r\n\r\n'));
    host.settle();
    expect(served).toEqual(['/late']);
    expect(transport.take().toString('latin1')).toContain('200 OK\r\ncontent-length: 0\r\nconnection: close\r\n');
    expect([transport.isEnded, transport.isDestroyed]).toEqual([true, false]);
  });

  test('has its first request answered over HTTP/2 as well, also where its first bytes came before', () => {
    const { served, host, transport, sniffer, receive } = fresh();
    receive(clientPreface.subarray(0, 3));
    sniffer.drain();
    receive(Buffer.concat([clientPreface.subarray(3), settings(), headers(1, getFields, true)]));
    host.settle();
    expect(served).toHaveLength(1);
    host.pass(10_000);
    expect(transport.isEnded).toBe(true);
  });

  test('is closed after drainQuietMs if none arrives', () => {
    const { host, transport, sniffer } = fresh();
    sniffer.drain();
    host.pass(drainQuietMs - 100);
    sniffer.drain();
    expect(transport.isDestroyed).toBe(false);
    host.pass(200);
    expect(transport.isDestroyed).toBe(true);
  });
});
