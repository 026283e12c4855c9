/** Small models share worker processes, and each of them is loaded, replaced, unloaded and lost on its own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterEach, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel } from '../support/slow-model.ts';
import { StreamSocketClient } from '../support/stream-socket-client.ts';

const addSub = join(repositoryRoot, 'tests/models/add_sub');
const names: readonly string[] = Array.from({ length: 12 }, (_, index) => `m${index}`);
const numbers = Array.from({ length: 16 }, (_, index) => index);
const opened: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

function repositoryOf(models: readonly string[]): ModelRepository {
  const repository = new ModelRepository();
  for (const name of models) put(repository, name);
  return repository;
}

function put(repository: ModelRepository, name: string, parameters = ''): void {
  repository.copy(addSub, name);
  repository.write(`${name}/config.pbtxt`, `max_batch_size: 8\n${parameters}`);
}

async function serve(repository: ModelRepository, ...options: readonly string[]): Promise<ServerProcess> {
  const server = await ServerProcess.start([repository.path, ...options]);
  opened.push(
    () => server.stop(),
    () => repository.remove(),
  );
  return server;
}

interface Instance {
  readonly pid: number;
  readonly model: string;
}

/** The models of every worker process, by process id. */
async function workersOf(server: ServerProcess): Promise<ReadonlyMap<number, readonly string[]>> {
  const response = await fetch(`${server.url}/v1/management/instances`);
  const { instances } = (await response.json()) as { readonly instances: readonly Instance[] };
  const workers = new Map<number, string[]>();
  for (const { pid, model } of instances) workers.set(pid, [...(workers.get(pid) ?? []), model].sort());
  return workers;
}

async function pidOf(server: ServerProcess, model: string): Promise<number | undefined> {
  for (const [pid, models] of await workersOf(server)) if (models.includes(model)) return pid;
  return undefined;
}

/** The sum of the last column: 30. */
async function ask(server: ServerProcess, model: string): Promise<number> {
  const inputs = ['INPUT0', 'INPUT1'].map((name) => ({ name, shape: [1, 16], datatype: 'INT32', data: numbers }));
  const options = { method: 'POST', body: JSON.stringify({ inputs }) };
  const response = await fetch(`${server.url}/v2/models/${model}/infer`, options);
  const body = (await response.json()) as { outputs?: { name: string; data: number[] }[]; error?: string };
  if (response.status !== 200) throw new Error(`${model} was refused: ${body.error}`);
  return body.outputs?.find(({ name }) => name === 'OUTPUT0')?.data.at(-1) ?? Number.NaN;
}

/** Asks again and again until it holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('twelve small models run in a few processes, without sharing in twelve, and one may be excepted', async () => {
  const repository = repositoryOf(names);
  put(repository, 'alone', 'parameters { key: "millrace.share_worker" value { string_value: "false" } }');
  const shared = await serve(repository);
  for (const name of names) expect(await ask(shared, name)).toBe(30);
  const workers = [...(await workersOf(shared)).values()];
  expect(workers).toContainEqual(['alone']);
  expect(workers.length - 1).toBeLessThanOrEqual(4);
  expect(workers.flat().sort()).toEqual([...names, 'alone'].sort());
  const apart = await serve(repositoryOf(names), '--no-share-workers');
  expect((await workersOf(apart)).size).toBe(12);
});

test('a model is loaded, replaced and unloaded without its neighbours noticing', async () => {
  const repository = repositoryOf(names);
  const server = await serve(repository, '--model-control-mode', 'poll', '--repository-poll-secs', '1');
  const before = await workersOf(server);
  const [first] = [...before.values()];
  const [replaced = '', removed = ''] = first ?? [];
  put(repository, replaced, 'parameters { key: "millrace.weight" value { string_value: "2" } }');
  rmSync(join(repository.path, removed), { recursive: true });
  put(repository, 'late');
  const isReplaced = async (): Promise<boolean> =>
    (await (await fetch(`${server.url}/v2/models/${replaced}/config`)).text()).includes('millrace.weight');
  const isRemoved = async (): Promise<boolean> => (await pidOf(server, removed)) === undefined;
  await until(async () => (await isReplaced()) && (await isRemoved()));
  await until(async () => (await pidOf(server, 'late')) !== undefined);
  expect(await ask(server, replaced)).toBe(30);
  expect(await ask(server, 'late')).toBe(30);
  const after = await workersOf(server);
  expect([...after.keys()]).toEqual([...before.keys()]);
  for (const name of names) if (name !== removed) expect(await ask(server, name)).toBe(30);
  expect(server.records.filter(({ message }) => message === 'worker started')).toHaveLength(before.size);
});

test('a model in use moves away from models that were never run, and does not wait for the first run of one', async () => {
  const repository = repositoryOf(names);
  // In each of as many workers as there may be.
  const slow = ['slow0', 'slow1', 'slow2', 'slow3'];
  for (const name of slow) addSlowModel(repository, name);
  const server = await serve(repository);
  const neighboursOf = async (model: string): Promise<readonly string[]> =>
    [...(await workersOf(server)).values()].find((models) => models.includes(model)) ?? [];
  await until(async () => {
    expect(await ask(server, 'm0')).toBe(30);
    return (await neighboursOf('m0')).length === 1;
  });
  const others = [...(await workersOf(server)).values()].flat();
  expect(others.sort()).toEqual([...names, ...slow].sort());
  const inputs = [{ name: 'steps', shape: [1], datatype: 'INT64', data: [1000] }];
  let running = slow.length;
  const runs = slow.map(async (name) => {
    const options = { method: 'POST', body: JSON.stringify({ inputs }) };
    expect((await fetch(`${server.url}/v2/models/${name}/infer`, options)).status).toBe(200);
    running -= 1;
  });
  let answers = 0;
  while (running === slow.length) {
    expect(await ask(server, 'm0')).toBe(30);
    answers += 1;
  }
  // Behind such a run it would have had one or two.
  expect(answers).toBeGreaterThan(5);
  await Promise.all(runs);
}, 60_000);

test('a durable stream goes on when its model moves to another worker', async () => {
  const repository = new ModelRepository()
    .write('mean/1/model.onnx', readFileSync(join(repositoryRoot, 'tests/models/accumulator/1/model.onnx')))
    .write(
      'mean/config.pbtxt',
      'parameters { key: "millrace.stream_states" value { string_value: "state=next_state" } }',
    );
  for (const name of ['slow0', 'slow1', 'slow2', 'slow3']) addSlowModel(repository, name);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-moved-'));
  const config = join(folder, 'millrace.yaml');
  writeFileSync(config, `models:\n  paths: [${repository.path}]\nstreams:\n  drainSecondsMax: 1\n`);
  const server = await ServerProcess.start(['--config', config]);
  opened.push(
    () => server.stop(),
    () => repository.remove(),
    () => rmSync(folder, { recursive: true }),
  );
  const before = await pidOf(server, 'mean');
  const client = await StreamSocketClient.connect(server.url);
  client.send({ open: { context: 'mean' } });
  let sequence = 0;
  const answered = async (): Promise<unknown> => {
    sequence += 1;
    const tensors = [{ name: 'value', datatype: 'FP32', shape: [1, 1], data: [sequence % 2 === 0 ? 2 : 6] }];
    client.send({ input: { sequence, tensors } });
    return (await client.received('output', sequence)).tensors;
  };
  const holders = async (): Promise<readonly number[]> =>
    [...(await workersOf(server))].flatMap(([pid, models]) => models.filter((name) => name === 'mean').map(() => pid));
  // The stream is the only one that runs it; once it has moved, nothing of it stays in the worker of before.
  await until(async () => {
    await answered();
    const pids = await holders();
    return pids.length === 1 && pids[0] !== before;
  });
  await new Promise((resolve) => setTimeout(resolve, 2500));
  if (sequence % 2 === 1) await answered();
  expect(await answered()).toMatchObject([{ name: 'mean', data: [expect.closeTo(4 + 2 / sequence)] }]);
  expect(client.all('ended')).toEqual([]);
  client.socket.close();
}, 60_000);

test('killed shared workers cost no request its answer, and their models come back together', async () => {
  const server = await serve(repositoryOf(names));
  const end = new AbortController();
  let answers = 0;
  const callers = names.map(async (name) => {
    while (!end.signal.aborted) {
      expect(await ask(server, name)).toBe(30);
      answers += 1;
    }
  });
  for (let kill = 0; kill < 6; kill++) {
    const [victim = 0] = (await workersOf(server)).keys();
    process.kill(victim, 'SIGKILL');
    const answeredBefore = answers;
    await until(async () => answers > answeredBefore + 200 && !(await workersOf(server)).has(victim));
  }
  end.abort();
  await Promise.all(callers);
  expect([...(await workersOf(server)).values()].flat().sort()).toEqual([...names].sort());
});
