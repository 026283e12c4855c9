/** Web pages, DNS rebinding and loads with code cannot harm a real server. */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RawAnswer, rawCall, rawRpc } from '../support/raw-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-pages-'));
const marker = join(folder, 'code-ran');
const socketPath = join(folder, 'manage.sock');
const models = new ModelRepository()
  .write('mill/1/model.onnx', binaryModel('Add'))
  .write('mill/config.pbtxt', 'max_batch_size: 8');
const app = 'https://app.example';
const explicit = [models.path, '--model-control-mode', 'explicit', '--load-model', 'mill', '--cors-origins', app];
const servers: ServerProcess[] = [];

async function start(...more: readonly string[]): Promise<ServerProcess> {
  const server = await ServerProcess.start([...explicit, ...more]);
  servers.push(server);
  return server;
}

afterAll(async () => {
  for (const server of servers) expect(await server.stop()).toBe(0);
  models.remove();
  rmSync(folder, { recursive: true });
});

const portOf = (url: string): number => Number(new URL(url).port);
const listening = (server: ServerProcess) => server.records.find(({ message }) => message === 'listening');

const module = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(marker)}, 'ran');
export default {};`;
const attack = JSON.stringify({
  parameters: { config: '{"backend":"pipeline"}', 'file:1/pipeline.mjs': Buffer.from(module).toString('base64') },
});
const onnx = JSON.stringify({
  parameters: {
    config: '{"max_batch_size":4}',
    'file:1/model.onnx': readFileSync(join(models.path, 'mill/1/model.onnx')).toString('base64'),
  },
});
const row = JSON.stringify({
  inputs: ['left', 'right'].map((name) => ({ name, datatype: 'FP32', shape: [1, 2], data: [1, 2] })),
});
/** `model_name: "mill"` of a ModelMetadataRequest, and of a load. */
const named = Buffer.from([0x0a, 4, ...Buffer.from('mill')]);
const namedLoad = Buffer.from([0x12, 4, ...Buffer.from('mill')]);

async function indexOf(port: number): Promise<readonly string[]> {
  const { text } = await rawCall(port, 'POST /v2/repository/index HTTP/1.1', { Host: `localhost:${port}` });
  return (JSON.parse(text) as { name: string }[]).map(({ name }) => name);
}

describe('on loopback', () => {
  let server: ServerProcess;
  let http = 0;
  let grpc = 0;
  let metrics = 0;
  beforeAll(async () => {
    server = await start();
    [http, grpc, metrics] = [portOf(server.url), portOf(server.grpcUrl), portOf(server.metricsUrl)];
  });

  const load = (fields: Readonly<Record<string, string>>, body = attack): Promise<RawAnswer> =>
    rawCall(http, 'POST /v2/repository/models/evil/load HTTP/1.1', fields, body);
  const own = () => `127.0.0.1:${http}`;

  test('a page that posts text/plain loads nothing and runs nothing', async () => {
    const page = { Host: own(), 'Content-Type': 'text/plain;charset=UTF-8', Origin: 'https://evil.example' };
    const metadata = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'empty' };
    for (const fields of [page, { ...page, ...metadata }, { ...page, Origin: 'null' }, { ...page, Origin: app }]) {
      expect(await load(fields)).toMatchObject({ status: 403, text: expect.stringContaining('may not manage') });
    }
    const form = { ...page, 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await load(form)).status).toBe(403);
    expect(await indexOf(http)).toEqual(['mill']);
    expect(existsSync(marker)).toBe(false);
  });

  test('a caller that may load models cannot upload code', async () => {
    const fields = { Host: own(), 'Content-Type': 'application/json' };
    expect(await load(fields)).toMatchObject({
      status: 403,
      text: expect.stringMatching(/pipeline\.mjs.* is code.*models\.allowUploadedCode/),
    });
    expect(await indexOf(http)).toEqual(['mill']);
    expect(existsSync(marker)).toBe(false);
    expect((await load(fields, onnx)).status).toBe(200);
    expect(await indexOf(http)).toEqual(['evil', 'mill']);
    expect((await rawCall(http, 'POST /v2/repository/models/evil/unload HTTP/1.1', fields)).status).toBe(200);
  });

  test('a rebound DNS name is refused on every port and in both versions of HTTP', async () => {
    for (const port of [http, grpc, metrics]) {
      const Host = `evil.example:${port}`;
      for (const path of ['/v2', '/metrics', '/v1/management/contexts', '/v2/repository/index']) {
        const answer = await rawCall(port, `POST ${path} HTTP/1.1`, { Host, Origin: `http://${Host}` });
        expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('server.allowedHosts') });
      }
      const headers = { ':path': '/inference.GRPCInferenceService/ServerLive', 'content-type': 'application/grpc' };
      const refused = await rawRpc(port, { ...headers, ':authority': Host }, new Uint8Array());
      expect(refused).toMatchObject({ grpcStatus: 7, message: expect.stringContaining('server.allowedHosts') });
    }
    const told = server.records.filter(({ message }) => message === 'requests refused for their host or origin');
    expect(told.length).toBeGreaterThan(0);
  });

  test('a foreign page reads neither metrics nor models', async () => {
    const image = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Dest': 'image' };
    for (const [port, path] of [
      [metrics, '/metrics'],
      [http, '/v2'],
      [grpc, '/v2/models/mill'],
    ] as const) {
      const Host = `localhost:${port}`;
      expect((await rawCall(port, `GET ${path} HTTP/1.1`, { Host, ...image })).status).toBe(403);
      expect((await rawCall(port, `GET ${path} HTTP/1.1`, { Host, Origin: 'null' })).status).toBe(403);
      const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };
      expect((await rawCall(port, `GET ${path} HTTP/1.1`, { Host, ...link })).status).toBe(200);
    }
  });

  test('a page of a listed origin may run inference, but not manage over any protocol', async () => {
    const page = { Host: own(), Origin: app, 'Sec-Fetch-Site': 'cross-site', 'Content-Type': 'application/json' };
    const call = (path: string, body = '{}', more = {}) =>
      rawCall(http, `POST ${path} HTTP/1.1`, { ...page, ...more }, body);
    const service = '/inference.GRPCInferenceService';
    expect((await call(`${service}/ModelReady`, '{"name":"mill"}')).text).toBe('{"ready":true}');
    expect((await call('/v2/models/mill/infer', row)).status).toBe(200);
    const managed = [
      `${service}/RepositoryIndex`,
      `${service}/RepositoryModelLoad`,
      `${service}/RepositoryModelUnload`,
      '/millrace.v1.Management/ListContexts',
      '/millrace.v1.Management/RepositoryUnload',
      '/v1/management/models/mill/unload',
      '/v2/repository/models/mill/unload',
    ];
    for (const path of managed) {
      expect((await call(path)).status, path).toBe(403);
      const preflight = { Host: own(), Origin: app, 'Access-Control-Request-Method': 'POST' };
      const asked = await rawCall(http, `OPTIONS ${path} HTTP/1.1`, preflight);
      expect(asked.status, path).toBe(403);
      const web = { ...page, 'Content-Type': 'application/grpc-web+proto' };
      const { text } = await rawCall(http, `POST ${path} HTTP/1.1`, web, '\0\0\0\0\0');
      expect(text, path).toBe('');
    }
    const get = `GET ${service}/RepositoryIndex?encoding=json&message=%7B%7D HTTP/1.1`;
    expect((await rawCall(http, get, page)).status).toBe(403);
    expect((await rawCall(http, 'POST /v2/models/mill/infer HTTP/1.1', { Host: own() }, row)).status).toBe(200);
  });

  test('clients other than browsers work with the headers they send', async () => {
    const curl = { Host: own(), 'User-Agent': 'curl/8.5.0', Accept: '*/*' };
    const posted = { ...curl, 'Content-Type': 'application/x-www-form-urlencoded' };
    const infer = 'POST /v2/models/mill/infer HTTP/1.1';
    expect((await rawCall(http, infer, posted, row)).status).toBe(200);
    expect((await rawCall(http, 'POST /v2/repository/index HTTP/1.1', posted)).status).toBe(200);
    // tritonclient.http, on geventhttpclient: no content type for JSON alone.
    const triton = { Host: `localhost:${http}`, 'User-Agent': 'python-geventhttpclient-2.3.1' };
    expect((await rawCall(http, infer, triton, row)).status).toBe(200);
    expect((await rawCall(http, 'POST /v2/repository/models/mill/load HTTP/1.1', triton, '{}')).status).toBe(200);
    // The fetch of Node.js says sec-fetch-mode, and text/plain for text.
    const fetched = await fetch(`${server.url}/v2/models/mill/infer`, { method: 'POST', body: row });
    expect(fetched.status).toBe(200);
    expect((await rawCall(http, 'GET /v2/health/ready HTTP/1.0', {})).status).toBe(200);
    const scrape = { Host: `127.0.0.1:${metrics}`, 'User-Agent': 'Prometheus/2.53.0' };
    expect((await rawCall(metrics, 'GET /metrics HTTP/1.1', scrape)).status).toBe(200);
  });

  test.each([
    ['grpcio by address', { ':authority': '127.0.0.1:{port}', 'user-agent': 'grpc-python/1.76.0 grpc-c/50.0.0' }],
    ['grpcio by name', { ':authority': 'localhost:{port}', 'user-agent': 'grpc-python/1.76.0 grpc-c/50.0.0' }],
    ['grpcio by dns:///[::1]', { ':authority': '[::1]:{port}', 'user-agent': 'grpc-python/1.76.0 grpc-c/50.0.0' }],
    ['grpcurl', { ':authority': 'localhost:{port}', 'user-agent': 'grpcurl/1.9.3 grpc-go/1.61.0' }],
    ['a client of a Unix target behind a proxy', { ':authority': 'localhost', 'user-agent': 'grpc-go/1.61.0' }],
  ])('%s calls inference and Triton’s repository', async (_, sent) => {
    const headers = { ...sent, ':authority': sent[':authority'].replace('{port}', String(grpc)) };
    const fields = { ...headers, 'content-type': 'application/grpc', te: 'trailers' };
    const service = '/inference.GRPCInferenceService';
    expect((await rawRpc(grpc, { ...fields, ':path': `${service}/ModelMetadata` }, named)).grpcStatus).toBe(0);
    const loaded = await rawRpc(grpc, { ...fields, ':path': `${service}/RepositoryModelLoad` }, namedLoad);
    expect(loaded).toMatchObject({ status: 200, grpcStatus: 0 });
  });
});

test('listed hosts are served beside loopback names, and a port of its own has the same gate', async () => {
  const server = await start('--management-port', '0', '--allowed-hosts', 'models.example,*.cluster.local');
  const own = portOf(listening(server)?.managementUrl as string);
  const http = portOf(server.url);
  const statusOf = async (port: number, Host: string, more = {}) =>
    (await rawCall(port, 'POST /v2/repository/index HTTP/1.1', { Host, ...more })).status;
  expect(await statusOf(own, 'models.example')).toBe(200);
  expect(await statusOf(own, `a.cluster.local:${own}`)).toBe(200);
  expect(await statusOf(own, 'localhost')).toBe(200);
  expect(await statusOf(own, 'evil.example')).toBe(403);
  expect(await statusOf(own, 'localhost', { Origin: app })).toBe(403);
  const elsewhere = await rawCall(http, 'POST /v2/repository/index HTTP/1.1', { Host: 'localhost' });
  expect(elsewhere).toMatchObject({ status: 404, text: expect.stringContaining('(management.port)') });
});

test('management on a Unix socket is for its user, by curl and by the command, and not on the ports', async () => {
  const server = await start('--management-socket', socketPath);
  expect(listening(server)?.managementUrl).toBe(`unix:${socketPath}`);
  expect(lstatSync(socketPath).mode & 0o777).toBe(0o600);
  const http = portOf(server.url);
  // The last is what grpcio says for a target like unix:/tmp/manage.sock.
  for (const Host of ['localhost', 'anything', 'tmp%2Fmanage.sock']) {
    expect((await rawCall(socketPath, 'GET /v1/management/contexts HTTP/1.1', { Host })).status).toBe(200);
  }
  const elsewhere = await rawCall(http, 'GET /v1/management/contexts HTTP/1.1', { Host: 'localhost' });
  expect(elsewhere).toMatchObject({ status: 404, text: expect.stringContaining('(management.socket)') });
  const run = promisify(execFile);
  const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
  const { stdout } = await run(process.execPath, [millrace, 'models', 'list', '--url', `unix:${socketPath}`]);
  expect(stdout).toContain('mill');
  const url = ['--url', server.url];
  await expect(run(process.execPath, [millrace, 'models', 'list', ...url])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('management is served on a Unix socket'),
  });
  expect(await server.stop()).toBe(0);
  expect(existsSync(socketPath)).toBe(false);
});

test('code that was allowed once is not run after a restart that does not allow it', async () => {
  const store = ['--store-path', join(folder, 'store')];
  const allowed = await start('--allow-uploaded-code', ...store);
  const fields = { Host: 'localhost', 'Content-Type': 'application/json' };
  const pipeline = `import { definePipeline } from 'millrace/pipeline';
import { writeFileSync } from 'node:fs';
writeFileSync(${JSON.stringify(marker)}, 'ran');
export default definePipeline({
  inputs: { x: { datatype: 'FP32', shape: [1] } }, outputs: { y: { datatype: 'FP32', shape: [1] } },
  async run({ inputs }) { return { y: { data: inputs.x.data } }; },
});`;
  const body = JSON.stringify({
    parameters: { config: '{"backend":"pipeline"}', 'file:1/pipeline.mjs': Buffer.from(pipeline).toString('base64') },
  });
  const line = 'POST /v2/repository/models/uploaded/load HTTP/1.1';
  expect(await rawCall(portOf(allowed.url), line, fields, body)).toMatchObject({ status: 200 });
  expect(existsSync(marker)).toBe(true);
  expect(await allowed.stop()).toBe(0);
  rmSync(marker);
  const strict = await start('--no-strict-readiness', ...store);
  const { text } = await rawCall(portOf(strict.url), 'POST /v2/repository/index HTTP/1.1', fields);
  const uploaded = (JSON.parse(text) as { name: string; state: string; reason: string }[]).find(
    ({ name }) => name === 'uploaded',
  );
  expect(uploaded).toMatchObject({ state: 'UNAVAILABLE', reason: expect.stringContaining('is code') });
  expect(existsSync(marker)).toBe(false);
});
