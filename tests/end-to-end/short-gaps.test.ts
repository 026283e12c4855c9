/** What keeps a failure short for streams: their models are loaded first after a restart, and a warm spare takes over. */
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventReader } from '../support/event-source.ts';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/is-alive.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { runningTotal, valueInput, writeRunningTotal } from '../support/running-total.ts';
import { ServerProcess } from '../support/server-process.ts';

/** The first by name, so that it would be loaded first. */
const other = 'a_model';
const spared = 'spared';
/** A busy machine takes its time for each start of a process. */
const restartMsMax = 120_000;
const models = writeRunningTotal(new ModelRepository());
const addSub = join(repositoryRoot, 'tests/models/add_sub');
models.copy(addSub, other).write(`${other}/config.pbtxt`, 'max_batch_size: 8\n');
models
  .copy(addSub, spared)
  .write(
    `${spared}/config.pbtxt`,
    'max_batch_size: 8\nparameters { key: "millrace.warm_spare" value { string_value: "1" } }\n',
  );
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([models.path]);
}, restartMsMax);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function post(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Process ids of the workers that hold the model. */
async function pidsOf(model: string): Promise<readonly number[]> {
  const response = await fetch(`${server.url}/v1/management/instances`);
  const { instances } = (await response.json()) as { instances: readonly { pid: number; model: string }[] };
  return instances.flatMap((one) => (one.model === model ? [one.pid] : []));
}

describe.runIf(process.platform === 'linux')('a router that is killed', () => {
  test('is followed by one that loads the models of open streams first', { timeout: restartMsMax }, async () => {
    const { streamId } = (await (await post('/v1/streams', { context: runningTotal })).json()) as { streamId: string };
    await post(`/v1/streams/${streamId}/inputs`, { sequence: 1, ...valueInput(1) });
    const [before, seen] = [server.routerPid, server.records.length];
    process.kill(before, 'SIGKILL');
    await eventually('another router listens', () => server.routerPid !== before, restartMsMax);
    const since = () => server.records.slice(seen);
    const loads = () => since().flatMap(({ message, context }) => (message === 'load started' ? [context] : []));
    await eventually('all are loaded again', () => loads().length === 3, restartMsMax);
    expect(since().find(({ message }) => message === 'models of open streams are loaded first')).toMatchObject({
      models: [`${runningTotal}:1`],
    });
    expect(loads()).toEqual([`${runningTotal}:1`, `${other}:1`, `${spared}:1`]);
    const events = new EventReader(await fetch(`${server.url}/v1/streams/${streamId}`));
    await events.outputs(1);
    expect(events.events.filter(({ name }) => name === 'output').map(({ id }) => id)).toEqual(['1']);
  });
});

test('a model with a warm spare has a second worker of its own, and answers while a new one is loaded', {
  timeout: restartMsMax,
}, async () => {
  await eventually('both workers hold it', async () => (await pidsOf(spared)).length === 2, restartMsMax);
  const before = await pidsOf(spared);
  expect(await pidsOf(other)).not.toContain(before[0]);
  const numbers = Array.from({ length: 16 }, (_, index) => index);
  const inputs = ['INPUT0', 'INPUT1'].map((name) => ({ name, shape: [1, 16], datatype: 'INT32', data: numbers }));
  const ask = async (): Promise<number> => (await post(`/v2/models/${spared}/infer`, { inputs })).status;
  expect(await ask()).toBe(200);
  for (const pid of before) {
    process.kill(pid, 'SIGKILL');
    await eventually('it has ended', () => !isAlive(pid));
    expect(await ask()).toBe(200);
    await eventually('there is another', async () => (await pidsOf(spared)).filter(isAlive).length === 2, restartMsMax);
  }
  expect(await pidsOf(spared)).not.toEqual(before);
});
