/**
 * A server that reads a request and answers 60 bytes, to compare what is under it. Usage: node no-op.js KIND, where KIND
 * is `wire`, `seam`, `node-http2` or `node-http`. Prints `listening on PORT`.
 */
import { createServer as createHttp1 } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import type { AddressInfo, Server } from 'node:net';
import { serveHttp, serveWire } from '@millrace/http';

const body = Buffer.alloc(60, 'x');
const fields: [string, string][] = [['content-type', 'application/grpc']];
const trailers: [string, string][] = [['grpc-status', '0']];

const kinds: Readonly<Record<string, () => Promise<number>>> = {
  wire: async () => {
    const server = await serveWire((exchange) => {
      exchange.listener = {
        onData: () => {},
        onEnd: () => exchange.answer(200, fields, body, exchange.version === '2' ? trailers : undefined, undefined),
        onAbort: () => exchange.end(),
        onDrain: () => {},
        onRefused: () => {},
      };
      exchange.resume();
    });
    return server.port;
  },
  seam: async () => {
    const server = await serveHttp(async (request) => {
      await request.body.readAll(1 << 20);
      const answer = { status: 200, headers: fields, body };
      return request.version === '2' ? { ...answer, trailers: () => trailers } : answer;
    });
    return server.port;
  },
  'node-http2': () => {
    const server = createHttp2();
    server.on('stream', (stream) => {
      stream.resume();
      stream.on('end', () => {
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(body);
      });
    });
    return portOf(server);
  },
  'node-http': () =>
    portOf(
      createHttp1((request, response) => {
        request.resume();
        request.on('end', () => {
          response.setHeader('content-type', 'application/grpc');
          response.end(body);
        });
      }),
    ),
};

function portOf(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const open = kinds[process.argv[2] ?? ''];
if (open === undefined) {
  console.error(`name one of ${Object.keys(kinds).join(', ')}`);
  process.exit(2);
}
console.log(`listening on ${await open()}`);
