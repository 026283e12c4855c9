/** Our wire layer and RPC handler alone, without the inference server above: the services of the benches. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createRpcHandler, type RpcService, type StreamCall, serverStream, serveWire, unary } from '@millrace/http';
import { chunk, chunksRequest, healthCheckRequest, healthCheckResponse } from '../grpc-messages.ts';
import { reportMemoryOnSignal } from './memory-report.ts';

const { values } = parseArgs({ options: { key: { type: 'string' }, certificate: { type: 'string' } } });

interface ChunksRequest {
  readonly count: number;
  readonly bytes: number;
  readonly staysOpen: boolean;
}

const health: RpcService = {
  name: 'grpc.health.v1.Health',
  methods: [
    unary<object, object>({
      name: 'Check',
      request: { fromProto: (bytes) => healthCheckRequest.decode(bytes) },
      response: { toProto: (message) => healthCheckResponse.encode(message).finish() },
      handle: () => ({ status: 1 }),
    }),
  ],
};

const chunks: RpcService = {
  name: 'millrace.bench.v1.Chunks',
  methods: [
    serverStream<ChunksRequest, object>({
      name: 'Send',
      request: { fromProto: (bytes) => chunksRequest.decode(bytes) as unknown as ChunksRequest },
      response: { toProto: (message) => chunk.encode(message).finish() },
      handle: sendChunks,
    }),
  ],
};

function sendChunks({ count, bytes, staysOpen }: ChunksRequest, call: StreamCall<object>): undefined {
  const data = Buffer.alloc(bytes, 7);
  let number = 0;
  const send = (): void => {
    while (number < count) {
      if (!call.send({ number: number++, data })) {
        call.onRoom = send;
        return;
      }
    }
    if (!staysOpen) call.end();
  };
  call.signal.onCancel(() => {
    number = count;
    call.end();
  });
  send();
}

const tls =
  values.key === undefined || values.certificate === undefined
    ? undefined
    : { key: readFileSync(values.key), cert: readFileSync(values.certificate) };
// All load comes from one address here.
const connectionsPerAddressMax = Number.POSITIVE_INFINITY;
const server = await serveWire(createRpcHandler([health, chunks]), { tls, connectionsPerAddressMax });
reportMemoryOnSignal();
process.stdout.write(`listening on ${server.port}\n`);
process.on('SIGTERM', () => process.exit(0));
