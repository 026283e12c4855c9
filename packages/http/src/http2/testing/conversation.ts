/** A connection in memory after its handshake, with the frames it sends as text lines that a test can list. */
import { frameFlag, frameType, type HeaderField, HpackDecoder, readUint32BigEndian } from '@millrace/http2';
import { framesFrom, hello } from '@millrace/http2/testing';
import type { HttpLimitOptions } from '../../wire/config.ts';
import type { HostParts } from '../../wire/connection-host.ts';
import { MemoryHost } from '../../wire/testing/memory-host.ts';
import { MemoryTransport } from '../../wire/testing/memory-transport.ts';
import type { ExchangeListener, WireHandler } from '../../wire/wire-exchange.ts';
import { Http2Connection } from '../connection.ts';

export function converseHttp2(handler: WireHandler, options: HttpLimitOptions = {}, parts: HostParts = {}) {
  const host = new MemoryHost(handler, options, parts);
  const transport = new MemoryTransport();
  const connection = new Http2Connection(host, transport);
  const decoder = new HpackDecoder();
  connection.receive(hello);
  transport.take();
  const said = (): string[] => {
    host.settle();
    return framesFrom(transport.take()).map(({ type, flags, streamId, payload }) => {
      const end = (flags & frameFlag.endStream) !== 0 && type <= frameType.headers ? ' end' : '';
      if (type === frameType.data) return `${streamId} data ${payload.length}${end}`;
      if (type === frameType.headers) {
        const fields: HeaderField[] = [];
        decoder.decode(payload, 0, payload.length, fields, 65536);
        const shown = fields.filter(({ name }) => name !== 'date').map(({ name, value }) => `${name}=${value}`);
        return `${streamId} headers ${shown.join(' ')}${end}`;
      }
      if (type === frameType.rstStream) return `${streamId} reset ${readUint32BigEndian(payload, 0)}`;
      if (type === frameType.windowUpdate) return `${streamId} window ${readUint32BigEndian(payload, 0)}`;
      if (type === frameType.goaway) {
        return `goaway last ${readUint32BigEndian(payload, 0)} code ${readUint32BigEndian(payload, 4)} ${payload.toString('latin1', 8)}`;
      }
      if (type === frameType.settings) return (flags & frameFlag.ack) !== 0 ? 'settings ack' : 'settings';
      return `${streamId} type ${type}`;
    });
  };
  return {
    host,
    transport,
    connection,
    said,
    receive: (...parts: Buffer[]) => connection.receive(Buffer.concat(parts)),
  };
}

/** A listener that discards the body. */
export function listener(onEnd: () => void, onAbort: (reason: string) => void = () => {}): ExchangeListener {
  return { onData: () => {}, onEnd, onAbort, onDrain: () => {}, onRefused: () => {} };
}

/** Reads the body and answers with its length. */
export const measure: WireHandler = (exchange) => {
  let bytes = 0;
  exchange.listener = {
    onData: (piece) => {
      bytes += piece.length;
    },
    onEnd: () => exchange.answer(200, [['x-bytes', String(bytes)]], undefined, undefined, undefined),
    onAbort: () => exchange.end(),
    onDrain: () => {},
    onRefused: () => {},
  };
  exchange.resume();
};
