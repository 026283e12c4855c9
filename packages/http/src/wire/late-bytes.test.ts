import { clientPreface } from '@millrace/http2';
import { expect, test } from 'vitest';
import { Http1Connection } from '../http1/connection.ts';
import { Http2Connection } from '../http2/connection.ts';
import { lateBytesMax } from './late-bytes.ts';
import { MemoryHost } from './testing/memory-host.ts';
import { MemoryTransport } from './testing/memory-transport.ts';

test.each([
  ['HTTP/1.1', Http1Connection, 'GET\r\n\r\n'],
  ['HTTP/2', Http2Connection, `${clientPreface.toString('latin1')}no frame, and surely no SETTINGS`],
])('%s: bytes discarded after the end are capped, and then the connection is destroyed', (_, Connection, wrong) => {
  const host = new MemoryHost(() => {});
  const transport = new MemoryTransport();
  const connection = new Connection(host, transport);
  connection.receive(Buffer.from(wrong, 'latin1'));
  host.settle();
  expect(transport.isEnded).toBe(true);
  connection.receive(Buffer.alloc(lateBytesMax));
  expect(transport.isPaused).toBe(false);
  connection.receive(Buffer.alloc(1));
  expect(transport.isPaused).toBe(true);
  host.pass(4000);
  expect(transport.isDestroyed).toBe(true);
});
