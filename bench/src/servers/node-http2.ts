/** gRPC by hand on bare `node:http2`, messages by protobufjs: what the platform allows without a gRPC library. */
import { readFileSync } from 'node:fs';
import { createSecureServer, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import {
  checkPath,
  chunk,
  chunksPath,
  chunksRequest,
  envelopeOf,
  healthCheckRequest,
  healthCheckResponse,
  openEnvelopes,
} from '../grpc-messages.ts';

const { values } = parseArgs({ options: { key: { type: 'string' }, certificate: { type: 'string' } } });

const server =
  values.key === undefined || values.certificate === undefined
    ? createServer()
    : createSecureServer({ key: readFileSync(values.key), cert: readFileSync(values.certificate) });

server.on('stream', (stream, headers) => {
  const parts: Buffer[] = [];
  stream.on('error', () => {});
  stream.on('data', (part: Buffer) => parts.push(part));
  stream.on('end', () => {
    const [message] = openEnvelopes(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    if (message === undefined) stream.close();
    else if (headers[':path'] === checkPath) check(stream, message);
    else if (headers[':path'] === chunksPath) sendChunks(stream, message);
    else
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true });
  });
});

function respond(stream: ServerHttp2Stream): void {
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
}

function check(stream: ServerHttp2Stream, message: Buffer): void {
  healthCheckRequest.decode(message);
  respond(stream);
  stream.end(envelopeOf(healthCheckResponse.encode({ status: 1 }).finish()));
}

function sendChunks(stream: ServerHttp2Stream, message: Buffer): void {
  const { count, bytes } = chunksRequest.decode(message) as unknown as { count: number; bytes: number };
  const data = Buffer.alloc(bytes, 7);
  respond(stream);
  let number = 0;
  const send = (): void => {
    while (number < count) {
      if (!stream.write(envelopeOf(chunk.encode({ number: number++, data }).finish()))) {
        stream.once('drain', send);
        return;
      }
    }
    stream.end();
  };
  send();
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening on ${(server.address() as AddressInfo).port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
