/** What real callers and operators do to a server that is ready, as far as it makes the server touch the system. */
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type SharpOptions } from 'sharp';
import { openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { grpcInfer } from '../support/grpc-call.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import type { ServerProcess } from '../support/server-process.ts';

const rowsPerCall = 3;

async function call(server: ServerProcess, model: string): Promise<void> {
  const inputs = [
    {
      name: 'input',
      datatype: 'FP32' as const,
      shape: [rowsPerCall, 64],
      values: new Array<number>(64 * rowsPerCall).fill(0.5),
    },
  ];
  for (const form of ['json', 'binary'] as const) {
    const answer = await inferOverRest(server.url, model, inputs, { form });
    assert.equal(answer.status, 200, answer.error);
  }
  const client = openInferClient(server);
  const outputs = await grpcInfer(client, model, inputs);
  client.close();
  assert(typeof outputs !== 'string', String(outputs));
}

async function manage(server: ServerProcess, path: string, parameters: object = {}): Promise<void> {
  const answer = await fetch(`${server.url}/v2/repository/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ parameters }),
  });
  assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
}

async function read(url: string): Promise<void> {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  assert(answer.ok, `${url}: ${answer.status}`);
}

function plain(width: number, height: number, background: string): SharpOptions {
  return { create: { width, height, channels: 3, background } };
}

async function sendPhoto(server: ServerProcess): Promise<void> {
  const ink = await sharp(plain(8, 40, '#000'))
    .png()
    .toBuffer();
  const bytes = await sharp(plain(64, 64, '#fff'))
    .composite([{ input: ink }])
    .jpeg()
    .toBuffer();
  const header = JSON.stringify({
    inputs: [{ name: 'image', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: bytes.length + 4 } }],
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  const answer = await fetch(`${server.url}/v2/models/digits/infer`, {
    method: 'POST',
    headers: { 'inference-header-content-length': String(Buffer.byteLength(header)) },
    body: Buffer.concat([Buffer.from(header), length, bytes]),
  });
  assert.equal(answer.status, 200, await answer.text());
}

/** Every kind of call, loads with and without files, a pipeline, and where models have workers, one that is killed and its successor. */
export async function sendTraffic(server: ServerProcess, hasWorkers: boolean): Promise<void> {
  await call(server, 'mlp');
  for (const path of ['/v2', '/v2/models/mlp', '/v2/models/mlp/config', '/v2/models/mlp/stats', '/openapi.json']) {
    await read(`${server.url}${path}`);
  }
  await read(server.metricsUrl);
  await manage(server, 'index');
  const model = readFileSync(join(repositoryRoot, 'tests/models/mlp/1/model.onnx'));
  await manage(server, 'models/uploaded/load', {
    config: JSON.stringify({ backend: 'onnxruntime' }),
    'file:1/model.onnx': model.toString('base64'),
  });
  await call(server, 'uploaded');
  await manage(server, 'models/digits_tensors/load');
  await manage(server, 'models/digits/load');
  await sendPhoto(server);
  if (hasWorkers) await killWorker(server);
  await call(server, 'mlp');
  await manage(server, 'models/uploaded/unload');
  await read(server.metricsUrl);
}

async function killWorker(server: ServerProcess): Promise<void> {
  const group = 'mlp:1';
  const [pid] = server.workerPids(group);
  assert(pid !== undefined, 'no worker of mlp was ready');
  process.kill(pid, 'SIGKILL');
  await eventually('another worker is ready', () => server.workerPids(group).length > 1);
}
