/** The probes of stateful models and generators on the real engine: one that company changes runs alone, one that is random is shown as such. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { letterTokenizer, ModelRepository, type OnnxNode, onnxModelFrom, smallDecoder } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { runningTotal, valueInput, writeRunningTotal } from '../support/running-total.ts';
import { ServerProcess } from '../support/server-process.ts';
import { StreamSocketClient } from '../support/stream-socket-client.ts';

const models = writeRunningTotal(new ModelRepository());
for (const file of ['config.pbtxt', 'labels.txt', '1/model.onnx']) {
  models.write(`listener_tensors/${file}`, readFileSync(join(repositoryRoot, 'models/listener_tensors', file)));
}
/** Adds something to its state in each step; it shares runs, whatever the analysis of its graph says. */
function writeModel(name: string, added: OnnxNode): void {
  const value = (tensor: string) => ({ name: tensor, datatype: 'FP32' as const, shape: ['batch', 1] });
  const model = onnxModelFrom({
    inputs: [value('value'), value('state')],
    outputs: [value('total'), value('state_out')],
    nodes: [
      added,
      { operator: 'Add', inputs: ['state', 'added'], outputs: ['state_out'] },
      { operator: 'Identity', inputs: ['state_out'], outputs: ['total'] },
    ],
  });
  models.write(`${name}/1/model.onnx`, model).write(
    `${name}/config.pbtxt`,
    `max_batch_size: 8
dynamic_batching { }
parameters { key: "millrace.stream_states" value { string_value: "state=state_out" } }
`,
  );
}
writeModel('batch_mean', {
  operator: 'ReduceMean',
  inputs: ['value'],
  outputs: ['added'],
  attributes: { axes: [0], keepdims: 1 },
});
writeModel('noise', { operator: 'RandomNormalLike', inputs: ['value'], outputs: ['added'] });

models.copy(join(repositoryRoot, 'models/storyteller'));
models
  .write('noisy_text/1/model.onnx', smallDecoder('noisy'))
  .write('noisy_text/1/tokenizer.json', letterTokenizer('ab'));

let server: ServerProcess;
const clients: StreamSocketClient[] = [];
beforeAll(async () => {
  server = await ServerProcess.start([models.path]);
}, 120_000);
afterAll(async () => {
  for (const { socket } of clients) socket.terminate();
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function opened(context: string): Promise<{ readonly client: StreamSocketClient; readonly frame: Opened }> {
  const client = await StreamSocketClient.connect(server.url);
  clients.push(client);
  client.send({ open: { context } });
  return { client, frame: (await client.received('opened')) as unknown as Opened };
}

interface Opened {
  readonly streamId: string;
  readonly warnings?: readonly string[];
}

test.each([
  ['listener_tensors', true, 'exact'],
  [runningTotal, true, 'exact'],
  ['batch_mean', true, 'alone'],
  ['noise', false, 'inexact'],
])('%s: exact is %s, since the probe says %s', { timeout: 120_000 }, async (model, exact, verdict) => {
  const { frame } = await opened(model);
  const shown = await fetch(`${server.url}/v1/management/streams/${frame.streamId}`);
  expect(await shown.json()).toMatchObject({ model, exact, exactness: verdict });
  const answer = await fetch(`${server.url}/v1/management/contexts`);
  const { contexts } = (await answer.json()) as { contexts: readonly { model: string; exact?: boolean }[] };
  expect(contexts.find((one) => one.model === model)?.exact).toBe(exact);
  expect(frame.warnings ?? []).toEqual(exact ? [] : [expect.stringContaining('exact: false')]);
  const message = 'stateful model probed for its streams';
  await opened(model);
  const logged = server.records.filter((record) => record.message === message && record.model === model);
  expect(logged).toMatchObject([{ version: '1', exact, verdict }]);
});

test.each([
  ['storyteller', true, 'exact'],
  ['noisy_text', false, 'inexact'],
])('%s: the probe of a generator at its load says %s', { timeout: 120_000 }, async (model, exact, verdict) => {
  const { frame } = await opened(model);
  const shown = await fetch(`${server.url}/v1/management/streams/${frame.streamId}`);
  expect(await shown.json()).toMatchObject({ model, exact, exactness: verdict });
  const answer = await fetch(`${server.url}/v1/management/contexts`);
  const { contexts } = (await answer.json()) as { contexts: readonly { model: string; exact?: boolean }[] };
  expect(contexts.find((one) => one.model === model)?.exact).toBe(exact);
  expect(frame.warnings ?? []).toEqual(exact ? [] : [expect.stringMatching(/exact: false.*repeated runs give other/)]);
});

test('streams of a model that company changes are not mixed up', { timeout: 120_000 }, async () => {
  const inputs = 20;
  const streams = await Promise.all(Array.from({ length: 8 }, () => opened('batch_mean')));
  for (let sequence = 1; sequence <= inputs; sequence++) {
    for (const [index, { client }] of streams.entries()) {
      client.send({ input: { sequence, ...valueInput(index + 1), endOfInput: sequence === inputs } });
    }
  }
  for (const [index, { client }] of streams.entries()) {
    await client.received('ended');
    const totals = client.all('output').map(({ tensors }) => (tensors as [{ data: [number] }])[0].data[0]);
    expect(totals).toEqual(Array.from({ length: inputs }, (_, step) => (step + 1) * (index + 1)));
  }
});
