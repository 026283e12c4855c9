/** Unary calls by a client library in a closed loop: calls, their times, and the processor time that the client took. */
import { parseArgs } from 'node:util';
import { type ChannelCredentials, credentials, loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { createClient } from '@millrace/client';
import { inferenceProto, protoFolder } from '../grpc-messages.ts';
import { quantile } from '../statistics.ts';

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'millrace' },
    port: { type: 'string', default: '0' },
    inFlight: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '4' },
    warmup: { type: 'string', default: '2' },
  },
});

const elements = 16;
const data = Float32Array.from({ length: elements }, (_, at) => at / 3);

/** One call, and whether its answer is what was sent. */
type Call = () => Promise<boolean>;

function isEcho(answer: Float32Array | undefined): boolean {
  return answer?.length === elements && answer[elements - 1] === data[elements - 1];
}

function millraceCall(port: string): Call {
  const client = createClient(`http://127.0.0.1:${port}`);
  return async () => {
    const { outputs } = await client.infer('echo', { input: { shape: [1, elements], data } });
    return isEcho(outputs.output?.data as Float32Array | undefined);
  };
}

interface GrpcJsAnswer {
  readonly rawOutputContents: readonly Buffer[];
}
interface GrpcJsClient {
  modelInfer(request: object, done: (error: Error | null, answer: GrpcJsAnswer) => void): void;
}
type GrpcJsClientClass = new (address: string, channelCredentials: ChannelCredentials) => GrpcJsClient;

/** As its users write it: raw contents in and out, and a typed array of them. */
function grpcJsCall(port: string): Call {
  const definition = loadSync(inferenceProto, { includeDirs: [protoFolder] });
  const { inference } = loadPackageDefinition(definition) as unknown as {
    inference: { GRPCInferenceService: GrpcJsClientClass };
  };
  const client = new inference.GRPCInferenceService(`127.0.0.1:${port}`, credentials.createInsecure());
  return () =>
    new Promise((resolve, reject) => {
      const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, elements] }];
      client.modelInfer({ modelName: 'echo', inputs, rawInputContents: [raw] }, (error, answer) => {
        if (error !== null) reject(error);
        else resolve(isEcho(floatsOf(answer.rawOutputContents[0] as Buffer)));
      });
    });
}

function floatsOf(raw: Buffer): Float32Array {
  return new Float32Array(Uint8Array.from(raw).buffer);
}

const call = values.client === 'millrace' ? millraceCall(values.port) : grpcJsCall(values.port);
let isOver: boolean = false;
let times: number[] = [];
let wrong = 0;

async function loop(): Promise<void> {
  while (!isOver) {
    const begun = performance.now();
    if (!(await call())) wrong += 1;
    times.push(performance.now() - begun);
  }
}

const pause = (seconds: string): Promise<void> => new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1000));
const loops = Array.from({ length: Number(values.inFlight) }, loop);
await pause(values.warmup);
times = [];
const [wallBegun, cpuBegun] = [performance.now(), process.cpuUsage()];
await pause(values.seconds);
const wallSeconds = (performance.now() - wallBegun) / 1000;
const { user, system } = process.cpuUsage(cpuBegun);
const measured = times;
isOver = true;
await Promise.all(loops);
const cpuSeconds = (user + system) / 1e6;
const figures = {
  callsPerCpuSecond: measured.length / cpuSeconds,
  callsPerSecond: measured.length / wallSeconds,
  p50Ms: quantile(measured, 0.5),
  wrong,
};
process.stdout.write(JSON.stringify(figures));
process.exit(wrong === 0 && measured.length > 0 ? 0 : 1);
