/** One caller of a model with one number as input and output, over a chosen protocol and its own connection. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { repositoryRoot } from './repository-root.ts';
import type { ServerProcess } from './server-process.ts';

export interface CallerAnswer {
  readonly version: string;
  readonly output: number;
  /** What went wrong, if anything did. */
  readonly problem: string | undefined;
}

export interface Caller {
  infer(model: string, input: number): Promise<CallerAnswer>;
  close(): void;
}

export function restCaller(server: ServerProcess): Caller {
  return {
    async infer(model, input) {
      const body = JSON.stringify({ inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 1], data: [input] }] });
      try {
        const answer = await fetch(`${server.url}/v2/models/${model}/infer`, { method: 'POST', body });
        const text = await answer.text();
        if (!answer.ok) return failed(`REST ${answer.status}: ${text}`);
        const { model_version, outputs } = JSON.parse(text) as {
          model_version: string;
          outputs: { data: number[] }[];
        };
        return { version: model_version, output: outputs[0]?.data[0] ?? Number.NaN, problem: undefined };
      } catch (error) {
        return failed(`REST: ${String(error)}`);
      }
    },
    close() {},
  };
}

export interface InferClient extends grpc.Client {
  ModelInfer(
    request: object,
    callback: (
      error: grpc.ServiceError | null,
      answer?: { model_version: string; raw_output_contents: Buffer[] },
    ) => void,
  ): grpc.ClientUnaryCall;
}

let clientClass:
  | (new (
      address: string,
      credentials: grpc.ChannelCredentials,
      options: object,
    ) => InferClient)
  | undefined;

function inferClient(): NonNullable<typeof clientClass> {
  if (clientClass !== undefined) return clientClass;
  const loader = createRequire(import.meta.url)('@grpc/proto-loader') as {
    loadSync(file: string, options: object): grpc.GrpcObject;
  };
  const definition = loader.loadSync(join(repositoryRoot, 'proto/inference/grpc_service.proto'), {
    includeDirs: [join(repositoryRoot, 'proto')],
    keepCase: true,
  });
  const loaded = grpc.loadPackageDefinition(definition as unknown as Parameters<typeof grpc.loadPackageDefinition>[0]);
  clientClass = (loaded.inference as grpc.GrpcObject).GRPCInferenceService as unknown as NonNullable<
    typeof clientClass
  >;
  return clientClass;
}

/** On a connection of its own. */
export function openInferClient(server: ServerProcess): InferClient {
  const address = server.grpcUrl.replace(/^http:\/\//, '');
  return new (inferClient())(address, grpc.credentials.createInsecure(), {
    // Clients of one address share a connection unless told otherwise.
    'grpc.use_local_subchannel_pool': 1,
  });
}

export function grpcCaller(server: ServerProcess): Caller {
  const client = openInferClient(server);
  return {
    infer: (model, input) =>
      new Promise((resolve) => {
        const raw = Buffer.from(Float32Array.of(input).buffer);
        const request = {
          model_name: model,
          inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 1] }],
          raw_input_contents: [raw],
        };
        client.ModelInfer(request, (error, answer) => {
          if (error !== null || answer === undefined) resolve(failed(`gRPC: ${error?.message}`));
          else {
            const output = answer.raw_output_contents[0]?.readFloatLE(0) ?? Number.NaN;
            resolve({ version: answer.model_version, output, problem: undefined });
          }
        });
      }),
    close: () => client.close(),
  };
}

function failed(problem: string): CallerAnswer {
  return { version: '', output: Number.NaN, problem };
}
