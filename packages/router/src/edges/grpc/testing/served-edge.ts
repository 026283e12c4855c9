/** The whole edge behind a socket, called as a browser would: Connect over HTTP/1.1. */
import { createRpcHandler, type HttpServer, serveWire } from '@millrace/http';
import type { WatchedHealth } from '../../../catalogue/catalogue.ts';
import { ModelTally } from '../../../telemetry/model-tally.ts';
import { CallerRule } from '../../caller.ts';
import { catalogueOf, EchoDataPlane, viewOf } from '../../rest/testing/echo-double.ts';
import { createGrpcEdge, type GrpcEdge } from '../edge.ts';

export class HealthDouble implements WatchedHealth {
  isLive = true;
  isReady = true;
  isEnding = false;
  readonly listeners = new Set<() => void>();
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  become(change: Partial<Pick<HealthDouble, 'isReady' | 'isEnding'>>): void {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
  }
}

export interface ServedEdge {
  readonly url: string;
  readonly edge: GrpcEdge;
  readonly health: HealthDouble;
  readonly dataPlane: EchoDataPlane;
  readonly server: HttpServer;
  call(method: string, body?: unknown): Promise<unknown>;
}

const config = {
  name: 'm',
  max_batch_size: 8,
  input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [2] }],
  dynamic_batching: { max_queue_delay_microseconds: 2n ** 60n },
  version_policy: { latest: { num_versions: 1 } },
  of_the_future: true,
};

export async function serveEdge(callerHeader = ''): Promise<ServedEdge> {
  const health = new HealthDouble();
  const dataPlane = new EchoDataPlane();
  const view = viewOf('m', { config, labels: new Map([['x', ['cat', 'dog']]]) });
  const edge = createGrpcEdge({
    catalogue: catalogueOf(view, viewOf('other')),
    dataPlane,
    health,
    server: { name: 'mill', version: '1.2.3', extensions: ['of_our_own'] },
    statistics: { of: (name, version) => [{ name, version, ...new ModelTally(() => 0).statistics(), memory: [] }] },
    limits: { inputsMax: 2 },
    callers: new CallerRule({ header: callerHeader }),
  });
  const handler = createRpcHandler(edge.services, {
    errorFrom: (error) => edge.errorFrom(error),
    onRefused: (call, error) => edge.noteRefused(call, error),
  });
  const server = await serveWire(handler);
  const url = `http://127.0.0.1:${server.port}`;
  const call = async (method: string, body: unknown = {}): Promise<unknown> => {
    const path = method.includes('/') ? method : `inference.GRPCInferenceService/${method}`;
    const response = await fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as object;
    return response.status === 200 ? answer : { status: response.status, ...answer };
  };
  return { url, edge, health, dataPlane, server, call };
}

/** The messages of a Connect stream, as they come. */
export async function* streamed(url: string, path: string, ...messages: readonly unknown[]): AsyncGenerator<unknown> {
  const body = Buffer.concat(
    messages.map((message) => {
      const bytes = Buffer.from(JSON.stringify(message));
      const prefix = Buffer.alloc(5);
      prefix.writeUInt32BE(bytes.length, 1);
      return Buffer.concat([prefix, bytes]);
    }),
  );
  const headers = { 'content-type': 'application/connect+json' };
  const response = await fetch(`${url}/${path}`, { method: 'POST', headers, body });
  let rest = Buffer.alloc(0);
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      yield JSON.parse(rest.subarray(5, end).toString());
      rest = rest.subarray(end);
    }
  }
}
