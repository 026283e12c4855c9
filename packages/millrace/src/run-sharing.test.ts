/** Which requests share a run, with a real engine: verdicts are given, graphs and requests are real. */

import type { RowVerdict } from '@millrace/onnx';
import { copyOf, encodeBytesElements, InferenceError, neverCancelled, type Tensor } from '@millrace/protocol';
import type { InferAnswer, InferRequest } from '@millrace/router';
import { silentLibraryListener, silentObserver } from '@millrace/router/internal';
import { inferRequest } from '@millrace/router/testing';
import { ModelRepository, onnxModelFrom, type WrittenGraph } from '@millrace/worker/testing';
import { afterEach, expect, test } from 'vitest';
import { type Assembly, assemble } from './assemble.ts';
import { resolveConfig } from './config/resolve-config.ts';

const softmax = { kind: 'dependent', node: 'Softmax', reason: 'it sums over axis 0' } as const;
const unknown = { kind: 'unknown', node: 'Softmax', reason: 'not analysed' } as const;
const independent = { kind: 'independent' } as const;

const rowsOf = (name: string, columns: number | string = 2) =>
  ({ name, datatype: 'FP32', shape: ['batch', columns] }) as const;

/** Each column is divided by its sum over all rows: an answer that tells with whom its rows shared a run. */
const mixing: WrittenGraph = {
  inputs: [rowsOf('x')],
  outputs: [rowsOf('y')],
  nodes: [{ operator: 'Softmax', inputs: ['x'], outputs: ['y'], attributes: { axis: 0 } }],
};
const adding: WrittenGraph = {
  inputs: [rowsOf('x'), rowsOf('z')],
  outputs: [rowsOf('y')],
  nodes: [{ operator: 'Add', inputs: ['x', 'z'], outputs: ['y'] }],
};
/** Gives the element of each row that its index names; one out of range fails the whole run. */
const gathering: WrittenGraph = {
  inputs: [rowsOf('x'), { name: 'at', datatype: 'INT64', shape: ['batch', 1] }],
  outputs: [rowsOf('y', 1)],
  nodes: [{ operator: 'GatherElements', inputs: ['x', 'at'], outputs: ['y'], attributes: { axis: 1 } }],
};
interface Served extends Assembly {
  readonly batches: number[];
  readonly warnings: string[];
}

const opened: { readonly assembly: Assembly; readonly repository: ModelRepository }[] = [];
afterEach(async () => {
  for (const { assembly, repository } of opened.splice(0)) {
    await assembly.dataPlane.drain();
    assembly.library.close();
    await assembly.fleet.stop();
    await assembly.library.removeFiles();
    repository.remove();
  }
});

/** Serves the graph as model `m`, with this configuration and verdict; `batches` are the rows of each run. */
async function serve(
  graph: WrittenGraph,
  verdict: RowVerdict,
  config?: string,
  options: { readonly strictBatching?: boolean } = {},
): Promise<Served> {
  const repository = new ModelRepository().write('m/1/model.onnx', onnxModelFrom(graph));
  if (config !== undefined) repository.write('m/config.pbtxt', config);
  const batches: number[] = [];
  const warnings: string[] = [];
  const observer = silentObserver.observerFor('m', '1');
  const assembly = await assemble({
    paths: [repository.path],
    config: resolveConfig({ options: { worker: { lane: 'inline' }, models: options }, cwd: repository.path }),
    observer: {
      ...silentObserver,
      observerFor: () => ({ ...observer, batchRan: (rows: number) => batches.push(rows) }),
    },
    listener: { ...silentLibraryListener, repositoryWarned: ({ message }) => warnings.push(message) },
    onSharedMemoryUnavailable: () => {},
    analyseRows: async () => verdict,
  });
  opened.push({ assembly, repository });
  assembly.library.start();
  await assembly.library.settled();
  return { ...assembly, batches, warnings };
}

function fp32(name: string, rows: number, values: readonly number[]): Tensor {
  const data = new Uint8Array(Float32Array.from(values).buffer);
  return { name, datatype: 'FP32', shape: [rows, values.length / Math.max(rows, 1) || 2], data };
}

function int64(name: string, ...values: readonly number[]): Tensor {
  const data = new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer);
  return { name, datatype: 'INT64', shape: [values.length, 1], data };
}

function infer({ dataPlane }: Assembly, ...inputs: readonly Tensor[]): Promise<InferAnswer> {
  const request: InferRequest = inferRequest({
    inputs,
  });
  return dataPlane.inference.infer(request, neverCancelled);
}

async function valuesOf(answer: Promise<InferAnswer>): Promise<readonly number[]> {
  const { outputs, release } = await answer;
  const bytes = copyOf(outputs[0]?.data ?? new Uint8Array());
  release();
  return [...new Float32Array(bytes.buffer)];
}

const callers = Array.from({ length: 64 }, (_, index) => index);

test('64 concurrent callers of a graph that is not proven each get the answer of a run of their own', async () => {
  const served = await serve(mixing, unknown);
  const answers = await Promise.all(callers.map((n) => valuesOf(infer(served, fp32('x', 1, [n, -n])))));
  // The softmax of a single row is 1 everywhere.
  expect(new Set(answers.flat())).toEqual(new Set([1]));
  expect(served.batches).toEqual(callers.map(() => 1));
});

test('max_batch_size without dynamic_batching does not let requests share runs of a graph that is not proven', async () => {
  const served = await serve(mixing, unknown, 'max_batch_size: 8');
  const answers = await Promise.all(callers.map((n) => valuesOf(infer(served, fp32('x', 1, [n, -n])))));
  expect(new Set(answers.flat())).toEqual(new Set([1]));
  const [three] = [await valuesOf(infer(served, fp32('x', 3, [0, 0, 0, 0, 0, 0])))];
  expect(three?.every((value) => Math.abs(value - 1 / 3) < 1e-6)).toBe(true);
  await expect(infer(served, fp32('x', 9, Array(18).fill(0)))).rejects.toThrow('batch-size must be <= 8');
});

test('millrace.batch: always lets requests share runs, and warns of what was proven', async () => {
  const always = 'parameters { key: "millrace.batch" value { string_value: "always" } }';
  const served = await serve(mixing, softmax, `max_batch_size: 8 ${always}`);
  await Promise.all(callers.slice(0, 8).map((n) => valuesOf(infer(served, fp32('x', 1, [n, n])))));
  expect(Math.max(...served.batches)).toBeGreaterThan(1);
  expect(served.warnings).toEqual([expect.stringContaining('node Softmax: it sums over axis 0')]);
});

test('a strict server refuses a configuration that shares runs of rows that depend on each other', async () => {
  const config = 'max_batch_size: 8 dynamic_batching { }';
  const { library, models } = await serve(mixing, softmax, config, { strictBatching: true });
  expect(models.statuses()).toMatchObject([{ name: 'm', state: 'failed' }]);
  expect(library.problems.map(({ message }) => message).join()).toContain('node Softmax: it sums over axis 0');
});

test('a run that one request makes fail is repeated for the others', async () => {
  const served = await serve(gathering, independent);
  const outcomes = await Promise.all(
    callers.map((n) =>
      valuesOf(infer(served, fp32('x', 1, [n, -n]), int64('at', n === 9 ? 70_000 : 1))).catch(
        (error: unknown) => error,
      ),
    ),
  );
  expect(outcomes[9]).toBeInstanceOf(InferenceError);
  expect(outcomes.filter((_, n) => n !== 9)).toEqual(callers.filter((n) => n !== 9).map((n) => [-n]));
  expect(Math.max(...served.batches)).toBe(1);
});

test('unequal first sizes and no rows of a model with a guessed max_batch_size are answered as the engine does', async () => {
  const served = await serve(adding, independent);
  const answers = await Promise.all([
    infer(served, fp32('x', 3, [1, 2, 3, 4, 5, 6]), fp32('z', 1, [10, 20])),
    infer(served, fp32('x', 0, []), fp32('z', 0, [])),
    infer(served, fp32('x', 1, [1, 2]), fp32('z', 3, [1, 1, 2, 2, 3, 3])),
  ]);
  expect(answers.map(({ outputs }) => outputs[0]?.shape)).toEqual([
    [3, 2],
    [0, 2],
    [3, 2],
  ]);
  expect(await valuesOf(Promise.resolve(answers[0] as InferAnswer))).toEqual([11, 22, 13, 24, 15, 26]);
  expect(await valuesOf(Promise.resolve(answers[2] as InferAnswer))).toEqual([2, 3, 3, 4, 4, 5]);
});

test('1,000 rows of a proven graph are answered in order', async () => {
  const served = await serve(adding, independent);
  const values = Array.from({ length: 2000 }, (_, index) => index);
  const sum = await valuesOf(infer(served, fp32('x', 1000, values), fp32('z', 1000, values)));
  expect(sum).toEqual(values.map((value) => 2 * value));
  expect(Math.max(...served.batches)).toBe(64);
});

test('1,000 rows of text are answered in order', async () => {
  const text = (name: string) => ({ name, datatype: 'BYTES', shape: ['batch', 1] }) as const;
  const echo: WrittenGraph = {
    inputs: [text('x')],
    outputs: [text('y')],
    nodes: [{ operator: 'Identity', inputs: ['x'], outputs: ['y'] }],
  };
  const served = await serve(echo, independent);
  const data = encodeBytesElements(Array.from({ length: 1000 }, (_, index) => 'ä'.repeat(index % 7) + index));
  const answer = await infer(served, { name: 'x', datatype: 'BYTES', shape: [1000, 1], data });
  expect(answer.outputs[0]).toMatchObject({ shape: [1000, 1], data });
  answer.release();
});

test('1,000 rows of a graph that is not proven are run whole', async () => {
  const served = await serve(mixing, unknown);
  const answer = await valuesOf(infer(served, fp32('x', 1000, Array(2000).fill(0))));
  expect(answer.every((value) => Math.abs(value - 0.001) < 1e-6)).toBe(true);
  expect(answer).toHaveLength(2000);
});

test('one row that fails ends a split request with its error', async () => {
  const served = await serve(gathering, independent);
  const at = Array.from({ length: 1000 }, (_, index) => (index === 700 ? 70_000 : 0));
  await expect(infer(served, fp32('x', 1000, Array(2000).fill(0)), int64('at', ...at))).rejects.toMatchObject({
    code: 'inference-failed',
  });
});
