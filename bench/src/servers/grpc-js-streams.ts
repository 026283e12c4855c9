/** What one would write with `@grpc/grpc-js` for the same messages: chunks for one input, an echo for many, and no journal. */
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { protoFolder } from '../grpc-messages.ts';
import { chunkOutput, echoOutput, lastOutput, type StreamTensor, streamProto } from '../stream-messages.ts';

interface GenerateRequest {
  readonly input: { readonly tensors: readonly StreamTensor[] };
}

interface ClientFrame {
  readonly input?: { readonly sequence: number; readonly bytes: Uint8Array; readonly endOfInput: boolean };
}

const definitions = loadSync(streamProto, { includeDirs: [protoFolder], longs: Number, enums: Number });
const server = new grpc.Server();

server.addService(definitions['millrace.v1.InferenceService'] as grpc.ServiceDefinition, {
  Generate: (call: grpc.ServerWritableStream<GenerateRequest, object>) => {
    const [tensor] = call.request.input.tensors;
    const count = Buffer.from(tensor?.raw ?? []).readInt32LE(0);
    let sequence = 1;
    const send = (): void => {
      while (sequence <= count) {
        if (!call.write({ output: chunkOutput(sequence++) })) {
          call.once('drain', send);
          return;
        }
      }
      call.write({ output: lastOutput(count + 1) });
      call.write({ ended: { outcome: 'done', outputs: count + 1 } });
      call.end();
    };
    send();
  },
  Stream: (call: grpc.ServerDuplexStream<ClientFrame, object>) => {
    call.on('data', ({ input }: ClientFrame) => {
      if (input === undefined) {
        call.write({ opened: { inputCredit: { messages: 64, bytes: 1 << 20 } } });
        return;
      }
      call.write({ output: echoOutput(input.sequence, input.bytes) });
      if (!input.endOfInput) return;
      call.write({ ended: { outcome: 'done', outputs: input.sequence } });
      call.end();
    });
  },
  Collect: (_call: unknown, callback: grpc.sendUnaryData<object>) =>
    callback({ code: grpc.status.UNIMPLEMENTED, details: 'not measured' }),
});

server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.stdout.write(`listening on ${port}\n`);
});
process.on('SIGTERM', () => process.exit(0));
