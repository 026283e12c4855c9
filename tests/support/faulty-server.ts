/** The server's parts put together as the composition root does, but with workers that can be made to fail. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from '@millrace/http';
import type { ModelStatus } from '@millrace/router';
import { createRestEdge } from '@millrace/router/edges';
import {
  type Clock,
  MetricsObserver,
  MetricsRegistry,
  renderMetrics,
  startSchedulerMetrics,
  systemClock,
} from '@millrace/router/internal';
import { type Options, resolveConfig } from 'millrace';
import { type Assembly, assemble, createLogger, FleetWatch } from 'millrace/internal';
import type { NamedValues } from './golden.ts';
import { type CallAnswer, decodeAnswer, encodeCall } from './inference-call.ts';
import { metricFrom } from './metrics.ts';
import { repositoryRoot } from './repository-root.ts';

/** Built: a process of its own cannot run from source on every supported Node. */
const workerPath = join(repositoryRoot, 'tests/dist/support/faulty-worker.js');

export class FaultyServer {
  readonly #assembly: Assembly;
  readonly #registry: MetricsRegistry;
  readonly #handler: ReturnType<typeof createRestEdge>;

  private constructor(assembly: Assembly, registry: MetricsRegistry) {
    this.#assembly = assembly;
    this.#registry = registry;
    const { dataPlane, models } = assembly;
    const health = { isLive: true, isReady: true };
    this.#handler = createRestEdge({
      dataPlane: dataPlane.inference,
      catalogue: models,
      health,
      server: { name: 'faulty', version: '0' },
    });
  }

  static async start(path: string, worker: Options['worker'] = {}, clock: Clock = systemClock): Promise<FaultyServer> {
    if (!existsSync(workerPath)) throw new Error(`${workerPath} is missing; run npm run build first`);
    const config = resolveConfig({
      options: { worker: { sharing: false, ...worker }, log: { level: 'silent' } },
      cwd: path,
    });
    const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write: () => {} });
    const registry = new MetricsRegistry();
    const observer = new MetricsObserver(registry, { version: '0', node: '0' });
    const assembly = await assemble({
      paths: [path],
      config,
      observer,
      listener: new FleetWatch(logger, observer),
      workerPath,
      clock,
      onSharedMemoryUnavailable: () => {},
    });
    startSchedulerMetrics(registry, assembly.dataPlane.inspection);
    assembly.library.start();
    return new FaultyServer(assembly, registry);
  }

  status(model: string): ModelStatus | undefined {
    return this.#assembly.models.statuses().find(({ name }) => name === model);
  }

  /** The workers that take requests, in the order of their ids. */
  workers(): readonly { readonly worker: number; readonly pid: number }[] {
    const serving = new Set(this.#assembly.dataPlane.inspection.instances().map(({ worker }) => worker));
    return this.#assembly.fleet
      .workers()
      .filter(({ worker }) => serving.has(worker))
      .map(({ worker, pid }) => ({ worker, pid: pid as number }))
      .sort((left, right) => left.worker - right.worker);
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    await this.#registry.collect();
    return metricFrom(renderMetrics(this.#registry, 'prometheus'), name, labels);
  }

  async infer(model: string, inputs: readonly NamedValues[], id = ''): Promise<CallAnswer> {
    const { body, headers } = encodeCall(inputs, { id });
    const target = `/v2/models/${model}/infer`;
    const response = await inject(this.#handler, { method: 'POST', target, headers: Object.entries(headers), body });
    return decodeAnswer(
      response.status,
      new Headers([...response.headers.entries()].map(([n, v]) => [n, v])),
      response.body,
    );
  }

  async close(): Promise<void> {
    this.#assembly.library.close();
    await this.#assembly.fleet.kill();
  }
}
