/** Management of a running server over REST, over gRPC, with the command, and on its own port. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { grpcManagement, managementContract, type RemoteManagement, restManagement } from '@millrace/router/testing';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository()
  .write('mill/1/model.onnx', binaryModel('Add'))
  .write('mill/2/model.onnx', binaryModel('Mul'))
  .write('mill/config.pbtxt', 'max_batch_size: 8 version_policy { all { } }')
  .write('spare/1/model.onnx', binaryModel('Add'))
  .write('spare/config.pbtxt', 'max_batch_size: 8');
const override = {
  config: '{"max_batch_size": 4}',
  files: new Map([['1/model.onnx', new Uint8Array(readFileSync(join(models.path, 'mill/2/model.onnx')))]]),
};
const explicit = [models.path, '--model-control-mode', 'explicit', '--load-model', 'mill'];
const servers: ServerProcess[] = [];

async function start(...more: readonly string[]): Promise<ServerProcess> {
  const server = await ServerProcess.start([...explicit, ...more]);
  servers.push(server);
  return server;
}

afterAll(async () => {
  for (const server of servers) expect(await server.stop()).toBe(0);
  models.remove();
});

const inputs = [
  { name: 'left', datatype: 'FP32', shape: [1, 2], values: [3, 5] },
  { name: 'right', datatype: 'FP32', shape: [1, 2], values: [4, 6] },
] as const;
const sum = [7, 11];
const product = [12, 30];

async function valuesOf(server: ServerProcess, model: string): Promise<unknown> {
  const { status, outputs, error } = await inferOverRest(server.url, model, inputs);
  return status === 200 ? outputs[0]?.values : error;
}

/** All tests of the contract use one server, in an order that makes this possible. */
for (const [name, face] of Object.entries({ REST: restManagement, gRPC: grpcManagement })) {
  let management: Promise<RemoteManagement> | undefined;
  managementContract(`a real server by ${name}`, async () => {
    management ??= start().then(({ url }) => face(url));
    return { management: await management, override };
  });
}

describe('the command', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await start();
  });

  const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
  const run = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [millrace, 'models', ...args, '--url', server.url]);
    return stdout;
  };

  test('moves a label, and requests by that label follow at once', async () => {
    await run('label', 'mill', 'stable', '1');
    expect(await valuesOf(server, 'mill@stable')).toEqual(sum);
    expect(await run('label', 'mill', 'stable', '2')).toContain('stable=2');
    expect(await valuesOf(server, 'mill@stable')).toEqual(product);
    await run('unlabel', 'mill', 'stable');
    expect(await valuesOf(server, 'mill@stable')).toContain('stable');
  });

  test('splits requests that name no version, and ends the split', async () => {
    await run('split', 'mill', '1=1');
    expect(await valuesOf(server, 'mill')).toEqual(sum);
    await run('unsplit', 'mill');
    expect(await valuesOf(server, 'mill')).toEqual(product);
  });

  test('loads and unloads a model', async () => {
    expect(await valuesOf(server, 'spare')).toContain('spare');
    await run('load', 'spare');
    expect(await valuesOf(server, 'spare')).toEqual(sum);
    await run('unload', 'spare');
    expect(await valuesOf(server, 'spare')).toContain('spare');
  });

  test('lists contexts, instances and queues', async () => {
    const listed = JSON.parse(await run('list', '--json')) as { contexts: { model: string; instances: number }[] };
    const mill = listed.contexts.filter(({ model }) => model === 'mill');
    expect(mill.map(({ instances }) => instances)).toEqual([1, 1]);
    expect(await run('instances')).toMatch(/mill +1 .* closed/);
    expect(await run('queues')).toMatch(/0 waiting/);
    expect(await run('flush-cache')).toBe('0 results removed from the cache\n');
  });

  test('a conflict and an unknown model end with 1 and say so', async () => {
    const conflict = run('label', 'mill', 'stable', '1', '--if-revision', '12345');
    await expect(conflict).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('repeat the change (millrace models traffic shows it)'),
    });
    await expect(run('traffic', 'nobody')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nobody'),
    });
  });
});

describe('management listeners', () => {
  const statusOf = async (url: string, path: string, method = 'GET') => (await fetch(url + path, { method })).status;

  test('with a management port, the inference ports do not serve management', async () => {
    const server = await start('--management-port', '0');
    const own = server.records.find(({ message }) => message === 'listening')?.managementUrl as string;
    expect(own).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await restManagement(own).traffic('mill')).split).toEqual([]);
    expect((await grpcManagement(own).contexts()).length).toBeGreaterThan(0);
    expect(await statusOf(own, '/v2/repository/index', 'POST')).toBe(200);
    expect(await statusOf(server.url, '/v1/management/contexts')).toBe(404);
    expect(await statusOf(server.url, '/v2/repository/index', 'POST')).toBe(404);
    expect(await statusOf(server.url, '/v2/models/mill/stats')).toBe(200);
    await expect(grpcManagement(server.url).contexts()).rejects.toThrow();
  });

  test('management that is turned off is not served, and nothing of it is advertised', async () => {
    const server = await start('--no-management');
    expect(await statusOf(server.url, '/v1/management/contexts')).toBe(404);
    expect(await statusOf(server.url, '/v2/repository/index', 'POST')).toBe(404);
    const { extensions } = (await (await fetch(`${server.url}/v2`)).json()) as { extensions: string[] };
    expect(extensions).not.toContain('model_repository');
  });
});
