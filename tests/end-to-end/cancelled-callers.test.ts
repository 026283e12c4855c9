/** When a caller disconnects, requests to other models on its behalf are cancelled too, over REST and gRPC. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBytesElements } from '@millrace/protocol';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import type { NamedValues } from '../support/golden.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { ServerProcess } from '../support/server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-cancelled-'));
/** While it is not there, the inner model goes on with what says `hold`. */
const gate = join(folder, 'gate');
const log = join(folder, 'log');

const pipeline = (body: string) => `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { definePipeline } from 'millrace/pipeline';
const note = (text) => appendFileSync(${JSON.stringify(log)}, text + '\\n');
export default definePipeline({
  inputs: { say: { datatype: 'BYTES', shape: [1] } },
  outputs: { said: { datatype: 'BYTES', shape: [1] } },
  async run({ inputs }, context) {
    const say = new TextDecoder().decode(inputs.say.data[0]);
    ${body}
  },
});`;

/** Runs one request at a time, and says which it began. */
const inner = pipeline(`
    note(say + ' begins');
    if (say === 'hold') while (!existsSync(${JSON.stringify(gate)})) await pause(5);
    if (say === 'listen') {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      note('listen was told');
    }
    return { said: { data: [say] } };`);
const calling = (model: string) => pipeline(`return context.infer('${model}', { say: inputs.say });`);
const text = (name: string) => `{ name: "${name}" data_type: TYPE_STRING dims: 1 }`;
const step = (model: string, from: string, to: string) =>
  `step { model_name: "${model}" input_map { key: "say" value: "${from}" } output_map { key: "said" value: "${to}" } }`;
const ensemble = (steps: string) =>
  `platform: "ensemble" input ${text('say')} output ${text('said')} ensemble_scheduling { ${steps} }`;

const models = new ModelRepository();
let server: ServerProcess;
let client: InferClient;
beforeAll(async () => {
  models
    .write('inner/1/pipeline.js', inner)
    .write('inner/config.pbtxt', 'parameters { key: "millrace.concurrency" value { string_value: "1" } }')
    .write('pipeline/1/pipeline.js', calling('inner'))
    .write('pipeline_of_ensemble/1/pipeline.js', calling('ensemble'))
    .write('ensemble/config.pbtxt', ensemble(step('inner', 'say', 'between') + step('inner', 'between', 'said')))
    .write('ensemble_of_pipeline/config.pbtxt', ensemble(step('pipeline', 'say', 'said')));
  server = await ServerProcess.start([models.path]);
  client = openInferClient(server);
});
afterAll(async () => {
  client.close();
  expect(await server.stop()).toBe(0);
  models.remove();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  rmSync(gate, { force: true });
  writeFileSync(log, '');
});

const logged = () => readFileSync(log, 'utf8').split('\n').slice(0, -1);
const waiting = () => server.metric('millrace_queue_requests', { model: 'inner' });
const cancelled = (model: string) => server.metric('millrace_failures_total', { model, code: 'cancelled' });
const saying = (say: string): readonly NamedValues[] => [{ name: 'say', datatype: 'BYTES', shape: [1], values: [say] }];

interface Call {
  readonly ended: Promise<unknown>;
  hangUp(): void;
}

const protocols = {
  REST: (model: string, say: string): Call => {
    const controller = new AbortController();
    const ended = inferOverRest(server.url, model, saying(say), { signal: controller.signal }).catch(() => {});
    return { ended, hangUp: () => controller.abort() };
  },
  gRPC: (model: string, say: string): Call => {
    const request = {
      model_name: model,
      inputs: [{ name: 'say', datatype: 'BYTES', shape: [1] }],
      raw_input_contents: [Buffer.from(encodeBytesElements([say]))],
    };
    let hangUp = (): void => {};
    const ended = new Promise<void>((resolve) => {
      const call = client.ModelInfer(request, () => resolve());
      hangUp = () => call.cancel();
    });
    return { ended, hangUp };
  },
};

const outer = ['ensemble', 'pipeline', 'ensemble_of_pipeline', 'pipeline_of_ensemble'];

describe.each(Object.entries(protocols))('over %s', (_, call) => {
  test.each(outer)('a waiting request of %s is removed from the queue and never runs', async (model) => {
    const before = { inner: await cancelled('inner'), outer: await cancelled(model) };
    const holding = call('inner', 'hold');
    await eventually('the inner model is busy', () => logged().includes('hold begins'));
    const left = call(model, 'left');
    const stays = call(model, 'stays');
    await eventually('two wait', async () => (await waiting()) === 2);
    left.hangUp();
    await left.ended;
    await eventually('one waits', async () => (await waiting()) === 1);
    await eventually('the outer one is over', async () => (await cancelled(model)) === before.outer + 1);
    expect(await cancelled('inner')).toBe(before.inner + 1);
    writeFileSync(gate, '');
    await Promise.all([holding.ended, stays.ended]);
    expect(new Set(logged())).toEqual(new Set(['hold begins', 'stays begins']));
  });

  test.each(outer)('a running request of %s is cancelled, and its worker is free again', async (model) => {
    const left = call(model, 'listen');
    await eventually('it runs', () => logged().includes('listen begins'));
    left.hangUp();
    await eventually('it is told', () => logged().includes('listen was told'));
    await call(model, 'next').ended;
    // Nothing that comes after what was given up, such as the second step of the ensemble, was begun for it.
    expect(logged().filter((line) => line !== 'next begins')).toEqual(['listen begins', 'listen was told']);
    expect(logged()).toContain('next begins');
  });
});
