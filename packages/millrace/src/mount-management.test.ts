import { type HttpServer, serveWire } from '@millrace/http';
import { SliceQueue } from '@millrace/router/edges';
import { grpcManagement, ManagementDouble, restManagement } from '@millrace/router/testing';
import { afterEach, expect, test } from 'vitest';
import type { Options } from './config/fields.ts';
import { resolveConfig } from './config/resolve-config.ts';
import { mountManagement } from './mount-management.ts';

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
});

function mount(management: NonNullable<Options['management']>, http: NonNullable<Options['http']> = {}) {
  return mountManagement({
    management: new ManagementDouble(),
    config: resolveConfig({ options: { management, http }, cwd: '/' }),
    rpc: {},
    withLog: (handler) => handler,
    slices: new SliceQueue(),
    onError: () => {},
  });
}

test('by default management is served by the edges of the inference ports', () => {
  const { shared, own } = mount({});
  expect(own).toBeUndefined();
  expect(shared?.services.map(({ service }) => service.name)).toEqual(['millrace.v1.Management']);
  expect(shared?.routes.every(({ path }) => path.startsWith('/v1/management/'))).toBe(true);
});

test('on an address of the network management is off by default', () => {
  const at = (options: Options) =>
    mountManagement({
      management: new ManagementDouble(),
      config: resolveConfig({ options: { server: { host: '0.0.0.0' }, ...options }, cwd: '/' }),
      rpc: {},
      withLog: (handler) => handler,
      slices: new SliceQueue(),
      onError: () => {},
    });
  expect(at({})).toEqual({ shared: undefined, own: undefined });
  expect(at({ management: { enabled: true } }).shared).toBeDefined();
  expect(at({ management: { socket: '/run/m.sock' } }).own).toBeDefined();
});

test('management can be turned off', () => {
  expect(mount({ enabled: false })).toEqual({ shared: undefined, own: undefined });
});

test('a management port serves all of management and nothing else', async () => {
  const { shared, own } = mount({ port: 0 }, { bodyBytesMax: 65_536, jsonBytesMax: 65_536 });
  expect(shared).toBeUndefined();
  server = await serveWire(own?.handler ?? (() => {}));
  const url = `http://127.0.0.1:${server.port}`;
  for (const remote of [restManagement(url), grpcManagement(url)]) {
    expect((await remote.contexts()).map(({ name }) => name)).toEqual(['mill', 'mill']);
  }
  const statusOf = async (path: string, init?: RequestInit) => (await fetch(url + path, init)).status;
  expect(await statusOf('/v2/repository/index', { method: 'POST' })).toBe(200);
  expect(await statusOf('/openapi.json')).toBe(200);
  expect(await statusOf('/v2/health/live')).toBe(404);
  expect(await statusOf('/v2/models/mill/infer', { method: 'POST', body: '{}' })).toBe(404);
});

test('http.bodyBytesMax limits the files of a load, over REST and gRPC', async () => {
  const { own } = mount({ port: 0 }, { bodyBytesMax: 65_536, jsonBytesMax: 65_536 });
  server = await serveWire(own?.handler ?? (() => {}));
  const url = `http://127.0.0.1:${server.port}`;
  const files = new Map([['1/model.onnx', new Uint8Array(70_000)]]);
  await expect(restManagement(url).load('spare', { config: '{}', files })).rejects.toMatchObject({
    code: 'request-too-large',
  });
  await expect(grpcManagement(url).load('spare', { config: '{}', files })).rejects.toThrow(/65536/);
});
