/** Our wire layer with an inference that only echoes its data: what is measured against it is the client. */
import { createRpcHandler, type RpcService, serveWire, unary } from '@millrace/http';
import { echoOf } from '../grpc-messages.ts';

const inference: RpcService = {
  name: 'inference.GRPCInferenceService',
  methods: [
    unary<Uint8Array, Uint8Array>({
      name: 'ModelInfer',
      request: { fromProto: (bytes) => bytes },
      response: { toProto: (message) => message },
      handle: (request) => echoOf(request),
    }),
  ],
};

const server = await serveWire(createRpcHandler([inference]), { connectionsPerAddressMax: Number.POSITIVE_INFINITY });
process.stdout.write(`listening on ${server.port}\n`);
process.on('SIGTERM', () => process.exit(0));
