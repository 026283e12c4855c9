/**
 * What one would write with `@grpc/grpc-js` for the same messages: chunks for one input, an echo for many, and no journal. With `--model`
 * the echo is that of the model our server runs for it, in this process, one run for all inputs that have come; without it the input is
 * sent back as it is.
 */
import { parseArgs } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { protoFolder } from '../grpc-messages.ts';
import { chunkOutput, echoBytes, echoOutput, lastOutput, type StreamTensor, streamProto } from '../stream-messages.ts';

const { values } = parseArgs({ options: { model: { type: 'string' } } });
const session =
  values.model === undefined ? undefined : await InferenceSession.create(values.model, { intraOpNumThreads: 1 });

interface GenerateRequest {
  readonly input: { readonly tensors: readonly StreamTensor[] };
}

interface EchoInput {
  readonly sequence: number;
  readonly bytes: Uint8Array;
  readonly endOfInput: boolean;
}

interface ClientFrame {
  readonly input?: EchoInput;
}

/** Runs the model for the inputs of one call: all that have come, at the end of the turn, one run after the other. */
class ModelSteps {
  readonly #session: InferenceSession;
  readonly #answer: (input: EchoInput, bytes: Uint8Array) => void;
  #waiting: EchoInput[] = [];
  #isBusy: boolean = false;

  constructor(model: InferenceSession, answer: (input: EchoInput, bytes: Uint8Array) => void) {
    this.#session = model;
    this.#answer = answer;
  }

  add(input: EchoInput): void {
    this.#waiting.push(input);
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const inputs = this.#waiting;
      this.#waiting = [];
      const rows = new Uint8Array(inputs.length * echoBytes);
      for (const [row, { bytes }] of inputs.entries()) rows.set(bytes, row * echoBytes);
      const { OUTPUT0 } = await this.#session.run({ INPUT0: new Tensor('uint8', rows, [inputs.length, echoBytes]) });
      const given = OUTPUT0?.data as Uint8Array;
      for (const [row, input] of inputs.entries())
        this.#answer(input, given.subarray(row * echoBytes, (row + 1) * echoBytes));
    }
    this.#isBusy = false;
  }
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
    const answer = ({ sequence, endOfInput }: EchoInput, bytes: Uint8Array): void => {
      call.write({ output: echoOutput(sequence, bytes) });
      if (!endOfInput) return;
      call.write({ ended: { outcome: 'done', outputs: sequence } });
      call.end();
    };
    const steps = session === undefined ? undefined : new ModelSteps(session, answer);
    call.on('data', ({ input }: ClientFrame) => {
      if (input === undefined) call.write({ opened: { inputCredit: { messages: 64, bytes: 1 << 20 } } });
      else if (steps === undefined) answer(input, input.bytes);
      else steps.add(input);
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
