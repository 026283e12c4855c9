import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testAuthority, testCertificate } from '@millrace/http/testing';
import { ConfigError } from '@millrace/protocol';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { Options } from './config/fields.ts';
import { resolveConfig } from './config/resolve-config.ts';
import { createLogger } from './logging/logger.ts';
import type { RunningServer } from './running-server.ts';
import { startServer } from './start-server.ts';
import type { Supervision } from './supervisor/supervision.ts';

const testModels = fileURLToPath(new URL('../../../tests/models', import.meta.url));
const repositories: ModelRepository[] = [];
const servers: RunningServer[] = [];
const lines: string[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  for (const made of repositories.splice(0)) made.remove();
  lines.length = 0;
});

/** With copies of these test models; removed after the test. */
function repositoryOf(...names: readonly string[]): ModelRepository {
  const made = new ModelRepository();
  repositories.push(made);
  for (const name of names) made.copy(join(testModels, name));
  return made;
}

async function start(path: string, options: Options = {}, supervision?: Supervision): Promise<RunningServer> {
  const inline: Options = {
    ...options,
    models: { paths: [path], ...options.models },
    server: { httpPort: 0, grpcPort: 0, metricsPort: 0, ...options.server },
    worker: { lane: 'inline' },
  };
  const config = resolveConfig({ options: inline, cwd: '/' });
  const write = (text: string) => {
    lines.push(text);
  };
  const server = await startServer(
    config,
    createLogger({ config, isTerminal: false, paint: (_, text) => text, write }),
    supervision,
  );
  servers.push(server);
  return server;
}

/** Resolves when no model is loading any more. */
function settled(server: RunningServer): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (server.models().every(({ state }) => state !== 'loading')) resolve();
    };
    server.onModelChange(check);
    check();
  });
}

function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

test('a started server says where it listens, what it serves, and serves it with its metrics', async () => {
  const server = await start(repositoryOf('add_sub').path, { server: { id: 'unit' } });
  await settled(server);
  expect(server.models()).toMatchObject([
    { name: 'add_sub', version: '1', state: 'ready', inputs: [{ name: 'INPUT0' }, { name: 'INPUT1' }] },
  ]);
  expect(server.models()[0]?.loadMs).toBeGreaterThan(0);
  expect(await (await fetch(`${server.httpUrl}/v2`)).json()).toMatchObject({ name: 'unit' });
  expect(await (await fetch(server.metricsUrl)).text()).toContain(
    'millrace_model_ready{model="add_sub",version="1"} 1',
  );
});

test('readiness is strict unless told otherwise, and ends before the service does', async () => {
  const path = repositoryOf('add_sub').write('torn/1/model.onnx', 'text').path;
  const strict = await start(path);
  const lax = await start(path, { models: { strictReadiness: false } });
  await Promise.all([settled(strict), settled(lax)]);
  const isReady = async ({ httpUrl }: RunningServer) => (await fetch(`${httpUrl}/v2/health/ready`)).ok;
  expect([await isReady(strict), await isReady(lax)]).toEqual([false, true]);
  lax.stopBeingReady();
  expect(await isReady(lax)).toBe(false);
  expect((await fetch(`${lax.httpUrl}/v2/health/live`)).ok).toBe(true);
  expect((await fetch(`${lax.httpUrl}/v2/models/add_sub`)).ok).toBe(true);
});

test('a drain closes the API and leaves the metrics; a close ends both, once for all calls', async () => {
  const server = await start(repositoryOf('add_sub').path);
  await settled(server);
  await server.drain();
  expect([await isListening(server.httpUrl), await isListening(server.metricsUrl)]).toEqual([false, true]);
  await Promise.all([server.close(), server.close()]);
  expect(await isListening(server.metricsUrl)).toBe(false);
});

test('a metrics port that is taken rejects the start and frees the other port', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const portOf = (server: typeof free) => (server.address() as { port: number }).port;
  const httpPort = portOf(free);
  free.close();
  await once(free, 'close');
  const server = { httpPort, grpcPort: 0, metricsPort: portOf(occupant) };
  await expect(start(repositoryOf('add_sub').path, { server })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  expect(await isListening(`http://127.0.0.1:${httpPort}`)).toBe(false);
  occupant.close();
});

test('a folder that cannot be read rejects the start before anything listens', async () => {
  await expect(start('/nowhere/at/all')).rejects.toBeInstanceOf(ConfigError);
});

test('warnings about a model are logged with their position', async () => {
  const models = repositoryOf('add_sub');
  models.write(
    'add_sub/config.pbtxt',
    'max_batch_size: 8\nparameters { key: "someone.else" value { string_value: "1" } }',
  );
  await start(models.path);
  const warning = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find(({ level }) => level === 'warn');
  expect(warning).toMatchObject({ line: 2, message: expect.stringContaining('not a parameter that Millrace reads') });
  expect(String(warning?.source)).toMatch(/add_sub\/config\.pbtxt$/);
});

const connectCall = (url: string, path: string, body: object): Promise<Response> =>
  fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('both ports answer RPC calls and REST, and both are in the access log', async () => {
  const server = await start(repositoryOf('add_sub').path, { log: { requests: true } });
  await settled(server);
  for (const url of [server.httpUrl, server.grpcUrl]) {
    const ready = await connectCall(url, 'inference.GRPCInferenceService/ModelReady', { name: 'add_sub' });
    expect(await ready.json()).toEqual({ ready: true });
    expect((await fetch(`${url}/v2/models/add_sub/ready`)).status).toBe(200);
  }
  const logged = lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ message }) => message === 'request');
  expect(logged).toHaveLength(4);
  expect(logged[0]).toMatchObject({
    protocol: 'connect',
    path: '/inference.GRPCInferenceService/ModelReady',
    status: 'ok',
    peer: '127.0.0.1',
  });
});

test('a health watch is told of the shutdown, and does not delay it', async () => {
  const server = await start(repositoryOf('add_sub').path);
  await settled(server);
  const message = Buffer.from('{"service":"add_sub"}');
  const body = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
  const headers = { 'content-type': 'application/connect+json' };
  const watch = await fetch(`${server.grpcUrl}/grpc.health.v1.Health/Watch`, { method: 'POST', headers, body });
  server.stopBeingReady();
  const [text] = await Promise.all([watch.text(), server.drain()]);
  const [serving, notServing, end] = [
    text.indexOf('"SERVING"'),
    text.indexOf('"NOT_SERVING"'),
    text.indexOf('"unavailable"'),
  ];
  expect(serving).toBeGreaterThan(0);
  expect(notServing).toBeGreaterThan(serving);
  expect(end).toBeGreaterThan(notServing);
});

test('pages of the configured origins may call, others may not', async () => {
  const server = await start(repositoryOf('add_sub').path, { http: { corsOrigins: ['https://a.example'] } });
  const ask = async (origin: string): Promise<string | null> => {
    const headers = { origin, 'access-control-request-method': 'POST' };
    const path = `${server.httpUrl}/inference.GRPCInferenceService/ServerLive`;
    return (await fetch(path, { method: 'OPTIONS', headers })).headers.get('access-control-allow-origin');
  };
  expect([await ask('https://a.example'), await ask('https://b.example')]).toEqual(['https://a.example', null]);
});

describe('TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tls-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const authority = testAuthority('Test Authority');
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const own = testCertificate('localhost', authority);
  const certificateFile = write('certificate.pem', own.cert);
  const keyFile = write('key.pem', own.key);
  const live = (url: string, more: object): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      get(`${url}/v2/health/live`, { ca: authority.cert, ...more }, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', reject);
    });

  test('both API ports speak it, and the address says so', async () => {
    const server = await start(repositoryOf('add_sub').path, { tls: { certificateFile, keyFile } });
    expect(server.httpUrl).toMatch(/^https:/);
    expect(await live(server.httpUrl, {})).toBe(200);
    expect(await live(server.grpcUrl, {})).toBe(200);
    expect((await fetch(server.metricsUrl)).status).toBe(200);
  });

  test('clients must show a certificate of the authority where one is named', async () => {
    const clientAuthorityFile = write('authority.pem', authority.cert);
    const server = await start(repositoryOf('add_sub').path, {
      tls: { certificateFile, keyFile, clientAuthorityFile },
    });
    await expect(live(server.httpUrl, {})).rejects.toThrow();
    expect(await live(server.httpUrl, testCertificate('client', authority))).toBe(200);
    await expect(live(server.httpUrl, testAuthority('stranger'))).rejects.toThrow();
  });

  test('files that cannot be used are named before anything listens', async () => {
    const path = repositoryOf('add_sub').path;
    const missing = join(folder, 'nowhere.pem');
    await expect(start(path, { tls: { certificateFile: missing, keyFile } })).rejects.toThrow(
      /nowhere\.pem: tls\.certificateFile: does not exist/,
    );
    const other = write('other-key.pem', testAuthority('other').key);
    await expect(start(path, { tls: { certificateFile, keyFile: other } })).rejects.toThrow(/cannot be used together/);
  });
});

test('a caller who waits in the socket of an earlier router finds its model', async () => {
  const statuses: Promise<number>[] = [];
  const supervision: Supervision = {
    restarts: 1,
    restart: undefined,
    folder: undefined,
    takeListener: () => undefined,
    // The ports are open, and the server is not up yet.
    keepListeners: async (handles) => {
      const address = { port: 0 };
      const [handle] = [...handles].filter(([key]) => key.startsWith('http ')).map(([, value]) => value);
      (handle as { getsockname(into: object): void }).getsockname(address);
      const row = { name: 'input', shape: [1, 64], datatype: 'FP32', data: Array.from({ length: 64 }, () => 0) };
      const body = JSON.stringify({ inputs: [row] });
      const answer = fetch(`http://127.0.0.1:${address.port}/v2/models/mlp/infer`, { method: 'POST', body });
      statuses.push(answer.then(({ status }) => status));
      await answer;
    },
    releaseListeners: async () => {},
    announceEnd: (onAnnounced) => onAnnounced(),
  };
  await start(repositoryOf('mlp').path, {}, supervision);
  // Ready or still loading, which a caller repeats: never unknown.
  expect([200, 503]).toContain(await statuses[0]);
});
