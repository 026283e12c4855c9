/** Pipelines and the models behind pipelines and ensembles that change while callers use them. */
import { setTimeout as pause } from 'node:timers/promises';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine, type EngineOptions } from 'millrace';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

let models: ModelRepository;
let engine: EmbeddedEngine | undefined;
beforeEach(() => {
  models = new ModelRepository();
});
afterEach(async () => {
  await engine?.close();
  engine = undefined;
  models.remove();
});

async function start(control: EngineOptions['control']): Promise<EmbeddedEngine> {
  engine = await createEngine({ models: models.path, control: { ...control }, allowFailures: true });
  return engine;
}
const polling: EngineOptions['control'] = { controlMode: 'poll', pollSeconds: 0.2, settleSeconds: 0.1 };

/** Answers its number, in the main file or in one that it imports, after a call that takes a while. */
const counting = (answer: string) => `import { definePipeline } from 'millrace/pipeline';
import { own } from './own.ts';
export default definePipeline({
  inputs: { x: { datatype: 'FP32', shape: [1] } },
  outputs: { y: { datatype: 'FP32', shape: [1] } },
  async run({ inputs }, context): Promise<{ y: { data: Float32Array } }> {
    const pair = { data: Float32Array.of(inputs.x.data[0]!, 0), shape: [1, 2] };
    const { output } = await context.infer('sum', { left: pair, right: pair });
    return { y: { data: Float32Array.of(${answer} + 0 * (output!.data as Float32Array)[0]!) } };
  },
});
`;
const writeCounting = (number: number, to = models) => to.write('count/1/pipeline.ts', counting(String(number)));

async function count(at: EmbeddedEngine): Promise<number> {
  const { outputs } = await at.infer('count', { x: { shape: [1], data: [1] } });
  return (outputs.y?.data as Float32Array | undefined)?.[0] as number;
}

/** Callers that ask all the time; what each was answered, with what was certain when it asked. */
function traffic(ask: () => Promise<number>) {
  const certain = { oldest: 1, newest: 1 };
  const seen = new Set<number>();
  const state: { isOver: boolean } = { isOver: false };
  const callers = Array.from({ length: 16 }, async () => {
    while (!state.isOver) {
      const { oldest } = certain;
      const answer = await ask();
      if (answer < oldest || answer > certain.newest) throw new Error(`${answer} was not current: ${oldest} was`);
      seen.add(answer);
      // They load the server all the time, and leave something of the machine to the load that is tested.
      await pause(20);
    }
  });
  const all = Promise.all(callers);
  // It is waited for at the end; a failure before must not count as forgotten.
  all.catch(() => {});
  return {
    certain,
    /** Resolves when some caller was answered so. */
    sees: (answer: number) => eventually(`a caller is answered ${answer}`, () => seen.has(answer)),
    async end(): Promise<readonly number[]> {
      state.isOver = true;
      await all;
      return [...seen].toSorted();
    },
  };
}

test('a module that is overwritten is reloaded under load, and no request fails', async () => {
  models.write('sum/1/model.onnx', binaryModel('Add')).write('count/1/own.ts', 'export const own: number = 3;');
  writeCounting(1);
  const at = await start(polling);
  const callers = traffic(() => count(at));
  await callers.sees(1);
  callers.certain.newest = 2;
  writeCounting(2);
  await eventually('the new text answers', async () => (await count(at)) === 2);
  callers.certain.oldest = 2;
  await callers.sees(2);
  // What it imports is part of it.
  callers.certain.newest = 3;
  models.write('count/1/pipeline.ts', counting('own'));
  await eventually('the imported number answers', async () => (await count(at)) === 3);
  callers.certain.oldest = 3;
  await callers.sees(3);
  callers.certain.newest = 4;
  models.write('count/1/own.ts', 'export const own: number = 4;');
  await eventually('the changed import answers', async () => (await count(at)) === 4);
  await callers.sees(4);
  expect(await callers.end()).toEqual([1, 2, 3, 4]);
});

test('a load request returns when only the new code answers', async () => {
  models.write('sum/1/model.onnx', binaryModel('Add')).write('count/1/own.ts', 'export const own = 0;');
  writeCounting(1);
  const at = await start({ controlMode: 'explicit', load: ['*'] });
  const callers = traffic(() => count(at));
  await callers.sees(1);
  for (let number = 2; number <= 4; number++) {
    callers.certain.newest = number;
    writeCounting(number);
    await at.library.load('count');
    callers.certain.oldest = number;
    expect(await count(at)).toBe(number);
    await callers.sees(number);
  }
  expect(await callers.end()).toEqual([1, 2, 3, 4]);
});

const mistakes = [
  ['a syntax error', { 'pipeline.ts': 'export default {\n  oops oops\n};' }, /pipeline\.ts:2/],
  [
    'an error at its top level',
    { 'pipeline.ts': '\n\nthrow new RangeError("not today");' },
    /not today \(pipeline\.ts:3\)/,
  ],
  ['an error in what it imports', { 'own.ts': 'export const a = 1;\nexport const own = = 0;' }, /own\.ts:2/],
  [
    'TypeScript that is more than types',
    { 'own.ts': '\nexport enum Kind { own }\nexport const own = 0;' },
    /own\.ts:2/,
  ],
  ['a syntax error in JavaScript', { 'own.ts': "export * from './more.js';", 'more.js': '\n\n= 0;' }, /more\.js:3/],
  ['a missing import', { 'own.ts': 'import "./gone.ts"; export const own = 0;' }, /gone\.ts/],
] as const;

describe('a load of a module with a mistake fails with file and line, and the old code keeps serving:', () => {
  const repository = new ModelRepository();
  let at: EmbeddedEngine;
  const writeGood = () => writeCounting(1, repository).write('count/1/own.ts', 'export const own = 0;');
  beforeAll(async () => {
    repository.write('sum/1/model.onnx', binaryModel('Add'));
    writeGood();
    at = await createEngine({ models: repository.path, control: { controlMode: 'explicit', load: ['*'] } });
  });
  afterAll(async () => {
    await at.close();
    repository.remove();
  });

  test.each(mistakes)('%s', async (_, files, reason) => {
    writeGood();
    const callers = traffic(() => count(at));
    await callers.sees(1);
    for (const [name, text] of Object.entries(files)) repository.write(`count/1/${name}`, text);
    await expect(at.library.load('count')).rejects.toMatchObject({ message: expect.stringMatching(reason) });
    expect(await count(at)).toBe(1);
    expect(await callers.end()).toEqual([1]);
  });
});

test('a module with a mistake in the repository is logged once, and the old code keeps serving', async () => {
  models.write('sum/1/model.onnx', binaryModel('Add')).write('count/1/own.ts', 'export const own = 0;');
  writeCounting(1);
  const server = await ServerProcess.start([
    models.path,
    '--model-control-mode',
    'poll',
    '--repository-poll-secs',
    '0.2',
    '--repository-settle-secs',
    '0.1',
  ]);
  const told = () =>
    server.records.filter(({ level, reason }) => level === 'error' && /pipeline\.ts/.test(String(reason)));
  const counted = async () => {
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }] });
    const response = await fetch(`${server.url}/v2/models/count/infer`, { method: 'POST', body });
    return ((await response.json()) as { outputs: { data: number[] }[] }).outputs[0]?.data[0];
  };
  try {
    models.write('count/1/pipeline.ts', 'export default {\n  oops oops\n};');
    await eventually('it is told', () => told().length > 0);
    expect(await counted()).toBe(1);
    writeCounting(2);
    await eventually('the mended text answers', async () => (await counted()) === 2);
    expect(told()).toHaveLength(1);
    expect(told()[0]?.reason).toMatch(/pipeline\.ts:2/);
  } finally {
    expect(await server.stop()).toBe(0);
  }
});

const ensemble = `platform: "ensemble"
input { name: "left" data_type: TYPE_FP32 dims: [ -1, 2 ] } input { name: "right" data_type: TYPE_FP32 dims: [ -1, 2 ] }
output { name: "both" data_type: TYPE_FP32 dims: [ -1, 2 ] }
ensemble_scheduling { step {
  model_name: "sum" model_version: -1
  input_map { key: "left" value: "left" } input_map { key: "right" value: "right" }
  output_map { key: "output" value: "both" }
} }`;
const operands = { left: { shape: [1, 2], data: [3, 3] }, right: { shape: [1, 2], data: [4, 4] } };
async function both(at: EmbeddedEngine): Promise<number> {
  const { outputs } = await at.infer('pair', operands);
  return (outputs.both?.data as Float32Array | undefined)?.[0] as number;
}

test('an ensemble follows the model of its step: changed, gone, and there again', async () => {
  models.write('sum/1/model.onnx', binaryModel('Add')).write('pair/config.pbtxt', ensemble);
  const at = await start({ controlMode: 'explicit', load: ['*'] });
  const answers = new Set<number>();
  const state: { isOver: boolean } = { isOver: false };
  const callers = Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!state.isOver) answers.add(await both(at));
    }),
  );
  models.write('sum/1/model.onnx', binaryModel('Mul'));
  await at.library.load('sum');
  expect(await both(at)).toBe(12);
  state.isOver = true;
  await callers;
  expect([...answers].every((answer) => answer === 7 || answer === 12)).toBe(true);

  await at.library.unload('sum');
  await expect(both(at)).rejects.toMatchObject({ code: 'model-not-ready' });
  const status = () => at.statuses().find(({ name }) => name === 'pair');
  expect(status()).toMatchObject({ reason: expect.stringMatching(/sum/) });
  await at.library.load('sum');
  await eventually('it is ready again', () => status()?.state === 'ready');
  expect(await both(at)).toBe(12);
});

test('an evicted model is loaded again when a pipeline calls it', async () => {
  models.write('sum/1/model.onnx', binaryModel('Add')).write('other/1/model.onnx', binaryModel('Mul'));
  models.write('count/1/own.ts', 'export const own = 0;');
  writeCounting(1);
  const probe = await createEngine({ models: models.path });
  const sizes = probe.library.contexts().map(({ residentBytes }) => residentBytes);
  await probe.close();
  // Room for the pipeline and one of the two.
  const memoryBudget = Math.round(sizes.reduce((sum, bytes) => sum + bytes, 0) - Math.min(...sizes) * 0.5);
  const at = await start({ memoryBudget });
  const stateOf = (name: string) => at.statuses().find((status) => status.name === name)?.state;
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(Array.from({ length: 8 }, () => count(at)));
    expect(answers).toEqual(Array(8).fill(1));
    expect(stateOf('sum')).toBe('ready');
    await at.infer('other', operands);
    await eventually('one of them is out', () => ['sum', 'count', 'other'].some((name) => stateOf(name) === 'evicted'));
  }
});
