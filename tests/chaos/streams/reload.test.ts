/** A model is replaced by changed files while streams use it: they go on with the version that they were opened with. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FuzzRandom } from '../../fuzz/random.ts';
import { eventually } from '../../support/eventually.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { DurableClient } from './durable-client.ts';
import { GapWatch } from './gap-watch.ts';
import { grpcStream } from './grpc-dialects.ts';
import { plansFor, type StreamPlan, writeStreamModels } from './stream-plans.ts';

const repository = writeStreamModels();
let server: ServerProcess;

beforeEach(async () => {
  server = await ServerProcess.start([
    repository.path,
    '--model-control-mode',
    'poll',
    '--repository-poll-secs',
    '0.2',
    '--repository-settle-secs',
    '0.1',
  ]);
});
afterEach(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

function clientOf(plan: StreamPlan, paceMs: number, expected: readonly Buffer[] | undefined): DurableClient {
  return new DurableClient({
    id: `reload-${plan.name}-${paceMs}`,
    plan,
    dialect: grpcStream,
    address: server.grpcUrl.replace(/^http:\/\//, ''),
    expected,
    paceMs,
    creditMessages: 32,
    handleMs: 0,
    cancelAfter: undefined,
    random: new FuzzRandom(1),
    gaps: new GapWatch(),
    onOpened: () => {},
    onInput: () => {},
  });
}

const isReplaced = (model: string): boolean =>
  server.records.some((record) => record.message === 'draining model before unload' && record.model === model);

test('streams of a stateful and a decoupled model go on over a reload', { timeout: 240_000 }, async () => {
  const plans = plansFor(new FuzzRandom(1), 1, 100).filter(({ name }) => /^(listener|counter)-short/.test(name));
  const undisturbed: DurableClient[] = [];
  for (const plan of plans) {
    const client = clientOf(plan, 0, undefined);
    await client.whenOver;
    undisturbed.push(client);
  }
  const clients = plans.map((plan, index) => clientOf(plan, 400, undisturbed[index]?.outputs));
  await eventually('all have outputs', () => clients.every(({ lastOutput }) => lastOutput > 0));
  for (const [model, before, after] of [
    ['listener_tensors', 'max_batch_size: 64', 'max_batch_size: 32'],
    ['counter', '"256"', '"128"'],
  ] as const) {
    const path = join(repository.path, model, 'config.pbtxt');
    writeFileSync(path, readFileSync(path, 'utf8').replace(before, after));
    await eventually(`${model} is replaced`, () => isReplaced(model), 60_000);
  }
  expect(clients.some(({ endedAt }) => endedAt === 0)).toBe(true);
  for (const client of clients) client.hurry();
  await Promise.all(clients.map(({ whenOver }) => whenOver));
  for (const client of clients) {
    expect([client.ending?.outcome, client.problems], client.history).toEqual(['done', []]);
  }
});
