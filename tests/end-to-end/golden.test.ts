import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { differenceBetween, type GoldenPair, testModelPairs, zooGraphs, zooPairs } from '../support/golden.ts';
import { type Form, inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const pairs = [...testModelPairs(), ...zooPairs()];
const forms = ['json', 'binary'] as const;
const callersAtOnce = 24;

const graphs = zooGraphs();
let server: ServerProcess;
beforeAll(async () => {
  const folders = [...['tests/models', 'models'].map((folder) => join(repositoryRoot, folder)), graphs.path];
  // Pipelines have no pairs, and each of them is a process that takes a second to start.
  const loads = [...new Set(pairs.map(({ model }) => model))].flatMap((model) => ['--load-model', model]);
  server = await ServerProcess.start([...folders, '--model-control-mode', 'explicit', ...loads]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  graphs.remove();
});

/** Undefined when the server answered rightly, otherwise what was wrong. */
async function problemOf(pair: GoldenPair, form: Form): Promise<string | undefined> {
  const { model, version, inputs, title } = pair;
  const { status, outputs, error } = await inferOverRest(server.url, model, inputs, { form, version });
  const problem = status === 200 ? differenceBetween(pair, outputs) : `${status} ${error}`;
  return problem === undefined ? undefined : `${title}, ${form}: ${problem}`;
}

test('every stateless test model has a golden pair', () => {
  expect(new Set(testModelPairs().map(({ model }) => model)).size).toBe(18);
});

/** The protocol has no text for 16-bit floats. */
function hasForm({ inputs, outputs }: GoldenPair, form: Form): boolean {
  return form === 'binary' || [...inputs, ...outputs].every(({ datatype }) => !/^(FP|BF)16$/.test(datatype));
}

describe.each(forms)('%s', (form) => {
  test.each(pairs.filter((pair) => hasForm(pair, form)))('$title gives the expected answer', async (pair) => {
    expect(await problemOf(pair, form)).toBeUndefined();
  });
});

test('16-bit floats in JSON are refused with what to do instead', async () => {
  const pair = pairs.find(({ model }) => model === 'identity_fp16') as GoldenPair;
  expect(await problemOf(pair, 'json')).toMatch(/400 .*use the binary data format for input INPUT0$/);
});

test('pairs that come at once share batches and are answered as when alone', async () => {
  const batches = (what: 'count' | 'sum') => server.metric(`millrace_batch_rows_${what}`, { model: 'mlp' });
  const shared = async () => {
    // One request of one row each, so that a batch of several rows is one that was shared.
    const singles = pairs.filter(({ model, inputs }) => model === 'mlp' && inputs[0]?.shape[0] === 1);
    const [countBefore, rowsBefore] = [await batches('count'), await batches('sum')];
    const calls = Array.from({ length: callersAtOnce }, (_, index) => {
      const pair = singles[index % singles.length] as GoldenPair;
      return problemOf(pair, forms[index % 2] as Form);
    });
    expect((await Promise.all(calls)).filter((problem) => problem !== undefined)).toEqual([]);
    expect((await batches('sum')) - rowsBefore).toBe(callersAtOnce);
    return (await batches('count')) - countBefore < callersAtOnce;
  };
  await eventually('requests that come at once share a batch', shared);
});

test('all pairs of all models at once, in both forms, are answered as when alone', async () => {
  const calls = [...pairs, ...pairs].flatMap((pair) =>
    forms.filter((form) => hasForm(pair, form)).map((form) => problemOf(pair, form)),
  );
  expect((await Promise.all(calls)).filter((problem) => problem !== undefined)).toEqual([]);
});
