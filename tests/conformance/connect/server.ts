/**
 * The program the Connect conformance runner starts: reads what to serve from stdin, says on stdout where, ends on SIGTERM.
 * Usage: node server.js DESCRIPTORS, the suite's own files compiled to a descriptor set.
 */
import { readFileSync } from 'node:fs';
import { create, createFileRegistry, fromBinary, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createRpcHandler, serveWire } from '@millrace/http';
import { mustFindMessage, type ServerCompatRequest } from './messages.ts';
import { conformanceService } from './service.ts';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(process.argv[2] as string)));

async function readRequest(): Promise<ServerCompatRequest> {
  let bytes = Buffer.alloc(0);
  for await (const piece of process.stdin) {
    bytes = Buffer.concat([bytes, piece as Buffer]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) break;
  }
  const message = bytes.subarray(4, 4 + bytes.readUInt32BE(0));
  return fromBinary(mustFindMessage(registry, 'ServerCompatRequest'), message) as unknown as ServerCompatRequest;
}

const request = await readRequest();
const credentials = request.useTls ? request.serverCreds : undefined;
const handler = createRpcHandler([conformanceService(registry)], {
  receiveBytesMax: request.messageReceiveLimit === 0 ? undefined : request.messageReceiveLimit,
  // The suite's messages are small, and it checks their compression.
  compressBytesMin: 0,
  onError: (error) => console.error(error),
});
const clientCertificate = request.clientTlsCert.length > 0 ? Buffer.from(request.clientTlsCert) : undefined;
const server = await serveWire(handler, {
  host: '127.0.0.1',
  tls:
    credentials === undefined
      ? undefined
      : {
          cert: Buffer.from(credentials.cert),
          key: Buffer.from(credentials.key),
          ...(clientCertificate === undefined
            ? {}
            : { ca: clientCertificate, requestCert: true, rejectUnauthorized: true }),
        },
});
process.on('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
const schema = mustFindMessage(registry, 'ServerCompatResponse');
const init = { host: '127.0.0.1', port: server.port, pemCert: credentials?.cert ?? new Uint8Array() };
const answer = toBinary(schema, create(schema, init));
const prefix = Buffer.alloc(4);
prefix.writeUInt32BE(answer.length);
process.stdout.write(Buffer.concat([prefix, answer]));
