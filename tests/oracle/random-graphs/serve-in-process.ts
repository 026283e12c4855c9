/** Serves a chunk's graphs with the server's own parts in this process: most on the inline lane, the others in a worker process. */

import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { neverCancelled, type Tensor } from '@millrace/protocol';
import type { InferRequest } from '@millrace/router';
import {
  type DataPlaneObserver,
  type ModelObserver,
  silentLibraryListener,
  silentObserver,
} from '@millrace/router/internal';
import { inferRequest } from '@millrace/router/testing';
import { resolveConfig } from 'millrace';
import { type Assembly, assemble } from 'millrace/internal';
import { type Case, modelPath } from './case.ts';
import { Judge } from './judge.ts';
import { ordersOf } from './orders.ts';
import type { OracleLane } from './result.ts';

export interface ServedGraph {
  readonly judge: Judge;
  readonly sharedRuns: number;
}

const rounds = 3;
/** Graphs whose requests are under way at once. */
const graphsAtOnce = 4;

/** Counts runs that more than one request shared, by model. */
class SharedRuns implements DataPlaneObserver {
  readonly counts = new Map<string, number>();

  observerFor(model: string, version: string): ModelObserver {
    const silent = silentObserver.observerFor(model, version);
    return {
      ...silent,
      requestsDispatched: (requests) => {
        if (requests > 1) this.counts.set(model, (this.counts.get(model) ?? 0) + 1);
      },
    };
  }
  modelForgotten(): void {}
  requestRefused(): void {}
  workersChanged(): void {}
  workerRestarted(): void {}
  cacheChanged(): void {}
}

/** `isSharingForced`: the configuration says that requests may share runs, whatever the graph. */
export async function serveInProcess(
  folder: string,
  cases: readonly Case[],
  laneOf: (graph: Case) => OracleLane,
  isSharingForced: boolean,
): Promise<ReadonlyMap<string, ServedGraph>> {
  if (cases.length === 0) return new Map();
  const paths = cases.map((graph) => writeModel(folder, graph, laneOf(graph), isSharingForced));
  const shared = new SharedRuns();
  const reasons = new Map<string, string>();
  const assembly = await assemble({
    paths: [...new Set(paths)],
    config: resolveConfig({ options: { worker: { lane: 'inline', threads: 1 } }, cwd: folder }),
    observer: shared,
    listener: {
      ...silentLibraryListener,
      modelFailed: ({ view }, reason) => reasons.set(view.name, reason),
    },
    onSharedMemoryUnavailable: () => {},
  });
  try {
    assembly.library.start();
    await assembly.library.settled();
    for (const { name, state, reason } of assembly.models.statuses()) {
      if (state !== 'ready' && !reasons.has(name)) reasons.set(name, reason);
    }
    const judges = new Map<string, Judge>();
    const waiting = [...cases];
    const work = async (): Promise<void> => {
      for (let graph = waiting.shift(); graph !== undefined; graph = waiting.shift()) {
        judges.set(graph.name, await ask(assembly, graph, reasons.get(graph.name)));
      }
    };
    await Promise.all(Array.from({ length: graphsAtOnce }, work));
    return new Map(
      cases.map(({ name }) => [name, { judge: judges.get(name) as Judge, sharedRuns: shared.counts.get(name) ?? 0 }]),
    );
  } finally {
    await stop(assembly);
  }
}

/** What is served for a graph: its file, or a repository with it, where something is configured. Nothing is but where it runs. */
function writeModel(folder: string, graph: Case, lane: OracleLane, isSharingForced: boolean): string {
  const lines = [
    ...(isSharingForced ? ['max_batch_size: 64', 'dynamic_batching { }'] : []),
    ...(lane === 'local' ? [parameter('millrace.lane', 'local'), parameter('millrace.worker_group', 'oracle')] : []),
  ];
  if (lines.length === 0) return modelPath(folder, graph);
  const model = join(folder, 'repository', graph.name);
  mkdirSync(join(model, '1'), { recursive: true });
  copyFileSync(modelPath(folder, graph), join(model, '1', 'model.onnx'));
  writeFileSync(join(model, 'config.pbtxt'), `${lines.join('\n')}\n`);
  return join(folder, 'repository');
}

function parameter(key: string, value: string): string {
  return `parameters { key: "${key}" value { string_value: "${value}" } }`;
}

async function ask({ dataPlane }: Assembly, graph: Case, failedBecause: string | undefined): Promise<Judge> {
  const judge = new Judge(graph);
  if (failedBecause !== undefined) {
    judge.fail('not-loaded', failedBecause);
    return judge;
  }
  for (const order of ordersOf(graph.requests.length, graph.seed, rounds)) {
    await Promise.all(
      order.map(async (index) => {
        const request = graph.requests[index];
        if (request === undefined) return;
        try {
          const answer = await dataPlane.inference.infer(requestFor(graph.name, request.inputs), neverCancelled);
          judge.answered(request, answer.outputs);
          answer.release();
        } catch (error) {
          judge.refused(request, error);
        }
      }),
    );
  }
  return judge;
}

function requestFor(model: string, inputs: readonly Tensor[]): InferRequest {
  return inferRequest({
    model,
    inputs,
  });
}

async function stop({ library, fleet, dataPlane }: Assembly): Promise<void> {
  library.close();
  await dataPlane.drain();
  await fleet.stop();
  await library.removeFiles();
}
