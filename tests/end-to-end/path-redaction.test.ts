/** Errors for callers say what is wrong with a model without its path on the server; the log has both. */
import { join } from 'node:path';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { grpcCaller, restCaller } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

/** By model, what callers hear of it: the file below the repository, and what is wrong with it. */
const failing = {
  no_graph: /no_graph\/1\/model\.onnx: cannot be read: /,
  no_labels: /no_labels\/config\.pbtxt:1: output\[0\]\.label_filename: no_labels\/labels\.txt does not exist/,
  no_config: /no_config\/config\.pbtxt:1: /,
  no_module: /'no_module\/1\/helper\.js'/,
  steps: /'no_graph'/,
};
const names = Object.keys(failing) as (keyof typeof failing)[];

beforeAll(async () => {
  const number = '{ name: "x" data_type: TYPE_FP32 dims: 1 }';
  models
    .write('good/1/model.onnx', binaryModel('Add'))
    .write('no_graph/1/model.onnx', 'not a graph')
    .write('no_labels/1/model.onnx', binaryModel('Add'))
    .write(
      'no_labels/config.pbtxt',
      'output { name: "output" data_type: TYPE_FP32 dims: 2 label_filename: "labels.txt" }',
    )
    .write('no_config/1/model.onnx', binaryModel('Add'))
    .write('no_config/config.pbtxt', 'max_batch_size: "many"')
    .write('no_module/1/pipeline.js', `import './helper.js';\nexport default 1;`)
    .write('no_module/config.pbtxt', `backend: "pipeline" input ${number} output ${number}`)
    .write(
      'steps/config.pbtxt',
      `platform: "ensemble" input ${number} output { name: "y" data_type: TYPE_FP32 dims: 1 } ensemble_scheduling {
        step { model_name: "no_graph" input_map { key: "x" value: "x" } output_map { key: "x" value: "y" } } }`,
    );
  server = await ServerProcess.start([models.path, '--no-strict-readiness']);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

function expectShown(text: string, model: keyof typeof failing): void {
  expect(text).toMatch(failing[model]);
  expect(text).not.toContain(models.path);
  expect(text).not.toMatch(/(?<![\w:/.…])\/\w+\/\w/);
}

/** What is said of a model between two attempts to load it: during one it is loading. */
async function settled(ask: () => Promise<string>): Promise<string> {
  let text = '';
  await eventually('it is not loading', async () => {
    text = await ask();
    return !text.includes('is loading') && !text.includes('"LOADING"');
  });
  return text;
}

test.each(names)('requests of %s, over REST and gRPC', async (model) => {
  for (const caller of [restCaller(server), grpcCaller(server)]) {
    expectShown(await settled(async () => (await caller.infer(model, 1)).problem ?? 'it was answered'), model);
    caller.close();
  }
});

test.each(names)('the repository index and the list of contexts, of %s', async (wanted) => {
  type Listed = readonly { readonly name?: string; readonly model?: string; readonly reason?: string }[];
  const saidOf = (listed: Listed) => JSON.stringify(listed.filter(({ name, model }) => (name ?? model) === wanted));
  const index = async () =>
    saidOf((await (await fetch(`${server.url}/v2/repository/index`, { method: 'POST' })).json()) as Listed);
  const contexts = async () =>
    saidOf(((await (await fetch(`${server.url}/v1/management/contexts`)).json()) as { contexts: Listed }).contexts);
  for (const ask of [index, contexts]) expectShown(await settled(ask), wanted);
});

const isLogged = (by: ServerProcess, model: string) => () =>
  by.records.some(({ reason }) => String(reason).includes(join(models.path, model)));

test.each(names.filter((name) => name !== 'steps'))('the log has the whole path of %s', async (model) => {
  await eventually('it is logged', isLogged(server, model));
});

test('a load that is asked for', async () => {
  const explicit = await ServerProcess.start([models.path, '--model-control-mode', 'explicit']);
  try {
    for (const model of names.filter((name) => name !== 'steps')) {
      const answer = await fetch(`${explicit.url}/v2/repository/models/${model}/load`, { method: 'POST' });
      expect(answer.ok).toBe(false);
      expectShown(((await answer.json()) as { error: string }).error, model);
      await eventually('it is logged', isLogged(explicit, model));
    }
  } finally {
    expect(await explicit.stop()).toBe(0);
  }
});
