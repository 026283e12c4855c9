/** Serves graphs by `millrace serve` with default settings, a process of its own, and asks over REST binary and gRPC. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { copyOf, type Datatype, type Tensor } from '@millrace/protocol';
import { binaryModel } from '@millrace/worker/testing';
import { repositoryRoot } from '../../support/repository-root.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { type Case, type CaseRequest, modelPath } from './case.ts';
import { Judge } from './judge.ts';
import { ordersOf } from './orders.ts';
import type { ServedGraph } from './serve-in-process.ts';

const rounds = 2;
const headerLengthField = 'inference-header-content-length';
const grpcInternal = 13;

interface InferClient extends Client {
  ModelInfer(message: object, done: (error: ServiceError | null, answer: GrpcAnswer) => void): void;
}

interface GrpcAnswer {
  readonly outputs: readonly { name: string; datatype: string; shape: readonly string[] }[];
  readonly raw_output_contents: readonly Buffer[];
}

export async function serveOverWire(folder: string, cases: readonly Case[]): Promise<ReadonlyMap<string, ServedGraph>> {
  const served = new Map<string, ServedGraph>();
  if (cases.length === 0) return served;
  // The server is ready when one model is: there is one that always loads.
  const known = join(folder, 'always-ready.onnx');
  writeFileSync(known, binaryModel('Add'));
  const paths = cases.map((graph) => modelPath(folder, graph));
  const server = await ServerProcess.start([...paths, known, '--no-strict-readiness']);
  const client = inferClient(new URL(server.grpcUrl).host);
  try {
    for (const graph of cases) {
      const judge = new Judge(graph);
      const ready = await fetch(`${server.url}/v2/models/${graph.name}/ready`);
      if (ready.status === 200) await ask(server.url, client, graph, judge);
      else judge.fail('not-loaded', reasonIn(server, graph.name));
      served.set(graph.name, { judge, sharedRuns: await sharedRunsOf(server, graph.name) });
    }
  } finally {
    client.close();
    await server.stop();
  }
  return served;
}

function reasonIn({ records }: ServerProcess, model: string): string {
  const record = records.find((one) => one.model === model && typeof one.reason === 'string');
  return String(record?.reason ?? 'it is not ready');
}

/** Answered requests without runs of their own. */
async function sharedRunsOf(server: ServerProcess, model: string): Promise<number> {
  const response = await fetch(`${server.url}/v2/models/${model}/stats`);
  if (response.status !== 200) return 0;
  const { model_stats: stats } = (await response.json()) as {
    model_stats: readonly {
      inference_count: number;
      execution_count: number;
      inference_stats: { success: { count: number } };
    }[];
  };
  return stats.reduce((sum, one) => sum + Math.max(0, one.inference_stats.success.count - one.execution_count), 0);
}

async function ask(url: string, client: InferClient, graph: Case, judge: Judge): Promise<void> {
  for (const order of ordersOf(graph.requests.length, graph.seed, rounds)) {
    await Promise.all(
      order.map((index, at) => {
        const request = graph.requests[index];
        if (request === undefined) return undefined;
        return at % 2 === 0 ? askRest(url, graph, request, judge) : askGrpc(client, graph, request, judge);
      }),
    );
  }
}

async function askRest(url: string, { name }: Case, request: CaseRequest, judge: Judge): Promise<void> {
  const inputs = request.inputs.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape,
    parameters: { binary_data_size: data.length },
  }));
  const head = Buffer.from(JSON.stringify({ parameters: { binary_data_output: true }, inputs }));
  const response = await fetch(`${url}/v2/models/${name}/infer`, {
    method: 'POST',
    body: Uint8Array.from(Buffer.concat([head, ...request.inputs.map(({ data }) => data)])),
    headers: { 'content-type': 'application/octet-stream', [headerLengthField]: String(head.length) },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) {
    judge.refusedWith(request, response.status, new TextDecoder().decode(bytes));
    return;
  }
  judge.answered(request, outputsFrom(bytes, Number(response.headers.get(headerLengthField) ?? bytes.length)));
}

function outputsFrom(bytes: Uint8Array, headLength: number): readonly Tensor[] {
  const { outputs } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, headLength))) as {
    outputs: readonly {
      name: string;
      datatype: Datatype;
      shape: number[];
      parameters?: { binary_data_size: number };
    }[];
  };
  let offset = headLength;
  return outputs.map(({ name, datatype, shape, parameters }) => {
    const length = parameters?.binary_data_size ?? 0;
    offset += length;
    return { name, datatype, shape, data: copyOf(bytes, offset - length, offset) };
  });
}

function inferClient(address: string): InferClient {
  const definition = loadPackageDefinition(
    loadSync(join(repositoryRoot, 'proto/inference/grpc_service.proto'), {
      keepCase: true,
      longs: String,
      // Lists without elements are lists too: a scalar has no sizes.
      arrays: true,
      includeDirs: [join(repositoryRoot, 'proto')],
    }),
  ) as unknown as { inference: { GRPCInferenceService: new (address: string, credentials: unknown) => InferClient } };
  return new definition.inference.GRPCInferenceService(address, credentials.createInsecure());
}

function askGrpc(client: InferClient, { name }: Case, request: CaseRequest, judge: Judge): Promise<void> {
  const message = {
    model_name: name,
    inputs: request.inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_input_contents: request.inputs.map(({ data }) => data),
  };
  return new Promise((resolve) => {
    client.ModelInfer(message, (error, answer) => {
      if (error === null) {
        const outputs = answer.outputs.map(({ name, datatype, shape }, index) => ({
          name,
          datatype: datatype as Datatype,
          shape: shape.map(Number),
          data: Uint8Array.from(answer.raw_output_contents[index] ?? []),
        }));
        judge.answered(request, outputs);
      } else {
        judge.refusedWith(request, error.code === grpcInternal ? 500 : 400, error.details);
      }
      resolve();
    });
  });
}
