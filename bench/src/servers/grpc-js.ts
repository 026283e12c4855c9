/**
 * The usual gRPC server in Node: `@grpc/grpc-js`, messages by `@grpc/proto-loader`, and where asked a model in the same
 * process, one run a request.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { chunksProto, healthProto, inferenceProto, protoFolder } from '../grpc-messages.ts';
import { reportMemoryOnSignal } from './memory-report.ts';

const { values } = parseArgs({
  options: { model: { type: 'string' }, key: { type: 'string' }, certificate: { type: 'string' } },
});

const definitions = loadSync([healthProto, inferenceProto, chunksProto], {
  includeDirs: [protoFolder],
  longs: Number,
  enums: Number,
});
const server = new grpc.Server();

server.addService(definitions['grpc.health.v1.Health'] as grpc.ServiceDefinition, {
  Check: (_call: unknown, callback: grpc.sendUnaryData<object>) => callback(null, { status: 1 }),
});

server.addService(definitions['millrace.bench.v1.Chunks'] as grpc.ServiceDefinition, {
  Send: (call: grpc.ServerWritableStream<{ count: number; bytes: number; staysOpen: boolean }, object>) => {
    const { count, bytes, staysOpen } = call.request;
    const data = Buffer.alloc(bytes, 7);
    let number = 0;
    const send = (): void => {
      while (number < count) {
        if (!call.write({ number: number++, data })) {
          call.once('drain', send);
          return;
        }
      }
      if (!staysOpen) call.end();
    };
    send();
  },
});

interface InferRequest {
  readonly inputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
  readonly rawInputContents: readonly Buffer[];
}

if (values.model !== undefined) {
  const session = await InferenceSession.create(values.model, { intraOpNumThreads: 1 });
  server.addService(definitions['inference.GRPCInferenceService'] as grpc.ServiceDefinition, {
    ModelInfer: (call: grpc.ServerUnaryCall<InferRequest, object>, callback: grpc.sendUnaryData<object>) => {
      const feeds: Record<string, Tensor> = {};
      for (const [index, { name, shape }] of call.request.inputs.entries()) {
        const raw = call.request.rawInputContents[index] as Buffer;
        feeds[name] = new Tensor('float32', new Float32Array(Uint8Array.from(raw).buffer), shape);
      }
      session.run(feeds).then(
        (results) => {
          const outputs = session.outputNames.map((name) => {
            const { dims, data } = results[name] as Tensor;
            const { buffer, byteOffset, byteLength } = data as Float32Array;
            return { name, datatype: 'FP32', shape: dims, raw: Buffer.from(buffer, byteOffset, byteLength) };
          });
          callback(null, { modelName: 'model', outputs, rawOutputContents: outputs.map(({ raw }) => raw) });
        },
        (error: Error) => callback({ code: grpc.status.INTERNAL, details: error.message }),
      );
    },
  });
}

const credentials =
  values.key === undefined || values.certificate === undefined
    ? grpc.ServerCredentials.createInsecure()
    : grpc.ServerCredentials.createSsl(null, [
        { private_key: readFileSync(values.key), cert_chain: readFileSync(values.certificate) },
      ]);
reportMemoryOnSignal();
server.bindAsync('127.0.0.1:0', credentials, (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`listening on ${port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
