/** What the faces call: one real server, and the same models in an engine of this process. */
import { createEngine, type EmbeddedEngine } from 'millrace';
import { ServerProcess } from '../../support/server-process.ts';

export const bodyBytesMax = 256 * 1024;

/** What can be observed of a server beside its calls. */
export interface ServerHarness {
  /** Requests of the model that wait for a batch. */
  waiting(model: string): Promise<number>;
  /** Requests that failed with the code, since the start: of all models, or of one. */
  failures(code: string, model?: string): Promise<number>;
  setLabel(model: string, label: string, version: string): Promise<void>;
}

const limits = ['--body-bytes-max', String(bodyBytesMax), '--json-bytes-max', String(bodyBytesMax)];

export async function startContractServer(models: string): Promise<ServerProcess> {
  return ServerProcess.start([models, '--no-strict-readiness', ...limits]);
}

export function serverHarness(server: ServerProcess): ServerHarness {
  return {
    waiting: (model) => server.metric('millrace_queue_requests', { model }),
    failures: (code, model) =>
      server.metric('millrace_failures_total', { code, ...(model === undefined ? {} : { model }) }),
    setLabel: async (model, label, version) => {
      const path = `/v1/management/models/${model}/labels/${label}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${server.url}${path}`, { method: 'PUT', headers, body: JSON.stringify({ version }) });
      if (!answer.ok) throw new Error(`the label was not set: ${await answer.text()}`);
    },
  };
}

export async function startContractEngine(models: string): Promise<EmbeddedEngine> {
  return createEngine({ models, allowFailures: true });
}

export function engineHarness(engine: EmbeddedEngine): ServerHarness {
  return {
    waiting: async (model) =>
      engine.management.queues().models.find((queue) => queue.model === model)?.waitingRequests ?? 0,
    failures: () => Promise.reject(new Error('an engine has no metrics')),
    setLabel: async (model, label, version) => {
      await engine.changeTraffic(model, { labels: new Map([[label, version]]) });
    },
  };
}
