/** What happens to a server in the ways that ARCHITECTURE.md names, each several times over: then the end of all but the last is seen too. */
import { Agent, request } from 'node:http';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { binaryModel, type ModelRepository } from '@millrace/worker/testing';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import type { ServerProcess } from '../support/server-process.ts';

export type StreamClient = InferClient & { ModelStreamInfer(): ClientDuplexStream<object, object> };

/** The model of every request: the sum of two tensors. */
export const model = 'sum';
/** The model whose file is replaced. */
export const replacedModel = 'replaced';
const times = 5;

/** Requests over connections that stay open. Each has other numbers: JSON that comes again is not read again. */
export class RestClient {
  readonly #server: ServerProcess;
  readonly #agent = new Agent({ keepAlive: true });
  #count = 0;

  constructor(server: ServerProcess) {
    this.#server = server;
  }

  async inferSeveral(): Promise<void> {
    for (let index = 0; index < times; index++) await this.infer();
  }

  /** Rejects unless the server answers with 200. */
  infer(): Promise<void> {
    this.#count += 1;
    const inputs = ['left', 'right'].map((name) => ({ name, datatype: 'FP32', shape: [1, 2], data: [this.#count, 2] }));
    return new Promise((resolve, reject) => {
      const call = request(
        `${this.#server.url}/v2/models/${model}/infer`,
        { method: 'POST', agent: this.#agent },
        (answer) => {
          answer.resume().on('end', () => {
            if (answer.statusCode === 200) resolve();
            else reject(new Error(`the server answered with ${answer.statusCode}`));
          });
        },
      );
      call.on('error', reject);
      call.end(JSON.stringify({ inputs }));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function openStreamClient(server: ServerProcess): StreamClient {
  return openInferClient(server) as StreamClient;
}

const grpcRequest = (first: number) => ({
  model_name: model,
  inputs: ['left', 'right'].map((name) => ({ name, datatype: 'FP32', shape: [1, 2] })),
  raw_input_contents: [1, 2].map(() => Buffer.from(Float32Array.of(first, 5).buffer)),
});

export async function callSeveral(client: InferClient): Promise<void> {
  for (let index = 0; index < times; index++) {
    await new Promise<void>((resolve, reject) => {
      client.ModelInfer(grpcRequest(index), (error) => (error === null ? resolve() : reject(error)));
    });
  }
}

/** Streams one after the other, each of several requests; the next leaves when the one before is answered. */
export async function streamSeveral(client: StreamClient): Promise<void> {
  for (let index = 0; index < 2; index++) {
    const stream = client.ModelStreamInfer();
    let answers = 0;
    stream.on('data', () => {
      answers += 1;
      if (answers < times) stream.write(grpcRequest(answers));
      else stream.end();
    });
    stream.write(grpcRequest(0));
    await new Promise<void>((resolve, reject) => stream.on('end', resolve).on('error', reject));
  }
}

/** Until the worker of the version before has ended. */
export async function replaceModel(server: ServerProcess, models: ModelRepository): Promise<void> {
  const ended = () =>
    server.records.filter(({ message, group }) => message === 'worker stopped' && group === `${replacedModel}:1`)
      .length;
  const before = ended();
  models.write(`${replacedModel}/1/model.onnx`, binaryModel('Mul'));
  await eventually('the worker of the version before has ended', () => ended() > before, 150_000);
}

/**
 * Stops the worker where it is with two batches of a request each, one that it runs and one that waits behind it; `killWorker`
 * then ends it, and awaits the answers.
 */
export async function holdRequests(
  server: ServerProcess,
  rest: RestClient,
): Promise<{ readonly pid: number; readonly killWorker: () => Promise<unknown> }> {
  const pid = server.workerPids(`${model}:1`).at(-1) as number;
  process.kill(pid, 'SIGSTOP');
  const isHeld = async (count: number): Promise<boolean> =>
    (await server.metric('millrace_outstanding_requests', { model })) === count &&
    (await server.metric('millrace_queue_requests', { model })) === 0;
  const answers: Promise<void>[] = [];
  for (const count of [1, 2]) {
    answers.push(rest.infer());
    await eventually(`the worker holds ${count} requests`, () => isHeld(count), 150_000);
  }
  const killWorker = (): Promise<unknown> => {
    process.kill(pid, 'SIGKILL');
    return Promise.all(answers);
  };
  return { pid, killWorker };
}
