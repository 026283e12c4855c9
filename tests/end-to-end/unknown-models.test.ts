/** What a caller is told who asks for a model or a version that is not served: how to get it, before anything else. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { type LogRecord, ServerProcess } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const caller = `
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { x: { datatype: 'FP32', shape: [1] } },
  outputs: { y: { datatype: 'FP32', shape: [1] } },
  run: ({ inputs }, context) => context.infer('m77', { x: inputs.x }),
});`;
const models = new ModelRepository();
let server: ServerProcess;
let client: InferClient;

beforeAll(async () => {
  for (const file of ['served/1', 'served/2', 'm77/1']) models.write(`${file}/model.onnx`, binaryModel('Add'));
  models.write('caller/1/pipeline.mjs', caller);
  const loads = ['--load-model', 'served', '--load-model', 'caller'];
  server = await ServerProcess.start([models.path, '--model-control-mode', 'explicit', '--log-requests', ...loads]);
  client = openInferClient(server);
});

afterAll(async () => {
  client.close();
  await server.stop();
  models.remove();
});

const unloaded =
  "Request for unknown model: 'm77' is not found among the loaded models; it is in the repository: load it with: millrace models load m77";
const unchosen =
  "Request for unknown model: 'served' version 1 is not found among the served versions; it is in the repository, but " +
  'without a version_policy only the latest is served; write version_policy { all { } } in config.pbtxt to serve all';
const misspelt = "Request for unknown model: 'serverd' is not found. Did you mean 'served'?";

/** Every request is malformed, so that the model and not the body must be the reason. */
test.each([
  ['m77', undefined, unloaded],
  ['served', '1', unchosen],
  ['serverd', undefined, misspelt],
  ['nothing_like_it', undefined, "Request for unknown model: 'nothing_like_it' is not found"],
])('%s, version %s: over REST and gRPC the model is named before the body', async (model, version, message) => {
  const path = `/v2/models/${model}${version === undefined ? '' : `/versions/${version}`}`;
  for (const [method, suffix, body] of [
    ['POST', '/infer', '{"inputs": 7'],
    ['POST', '/infer', undefined],
    ['GET', '', undefined],
  ] as const) {
    const answer = await fetch(`${server.url}${path}${suffix}`, { method, ...(body === undefined ? {} : { body }) });
    expect([answer.status, await answer.json()]).toEqual([404, { error: message }]);
  }
  const told = await new Promise((resolve) => {
    const inputs = [{ name: 'x', datatype: 'NONE', shape: [1] }];
    const request = { model_name: model, model_version: version ?? '', inputs, raw_input_contents: [] };
    client.ModelInfer(request, (error) => resolve(error?.message));
  });
  expect(told).toBe(`5 NOT_FOUND: ${message}`);
  const isLogged = ({ message: text, path: method, ...record }: LogRecord): boolean =>
    text === 'request' && method === '/inference.GRPCInferenceService/ModelInfer' && record.model === model;
  await eventually('the call is logged', () => server.records.some(isLogged));
  expect(server.records.find(isLogged)).toMatchObject({ protocol: 'grpc', status: 'not_found', code: 'unknown-model' });
});

test('a pipeline that calls such a model says which pipeline and which model', async () => {
  const inputs = [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }];
  const body = JSON.stringify({ inputs });
  const answer = await fetch(`${server.url}/v2/models/caller/infer`, { method: 'POST', body });
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { error: `'caller' calls model 'm77', which is not served: ${unloaded}` },
  ]);
});

test('the command in the message loads the model', async () => {
  await promisify(execFile)(process.execPath, [millrace, 'models', 'load', 'm77', '--url', server.url]);
  expect((await fetch(`${server.url}/v2/models/m77`)).status).toBe(200);
});
