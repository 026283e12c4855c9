/** Sequences on a real server whose workers are killed under them. */
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferOverRest } from '../support/inference-call.ts';
import { isAlive } from '../support/is-alive.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  models.copy(join(repositoryRoot, 'tests/models/sequence_sum'));
  models.copy(join(repositoryRoot, 'tests/models/sequence_dyna'));
  server = await ServerProcess.start([models.path, '--caller-header', 'x-caller']);
});

afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function step(
  model: string,
  id: number | string,
  value: number,
  flags: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<number | string> {
  const inputs = [{ name: 'INPUT', datatype: 'INT32' as const, shape: [1, 1], values: [value] }];
  const answer = await inferOverRest(server.url, model, inputs, { headers, parameters: { sequence_id: id, ...flags } });
  return answer.status === 200 ? Number(answer.outputs[0]?.values[0]) : answer.error;
}

test('sixteen sequences keep their sums exactly while their worker is killed again and again', async () => {
  const length = 40;
  let answered = 0;
  let kills = 0;
  const killNow = (): void => {
    const victim = server.workerPids('sequences').at(-1);
    // Its successor may not be there yet.
    if (victim === undefined || !isAlive(victim)) return;
    kills += 1;
    process.kill(victim, 'SIGKILL');
  };
  const sequence = async (id: number): Promise<readonly (number | string)[]> => {
    const totals: (number | string)[] = [];
    for (let at = 0; at < length; at++) {
      const flags = { sequence_start: at === 0, sequence_end: at === length - 1 };
      totals.push(await step('sequence_sum', id, id + at, flags));
      answered += 1;
      if (answered % 150 === 0) killNow();
    }
    return totals;
  };
  const ids = Array.from({ length: 16 }, (_, index) => index + 1);
  const results = await Promise.all(ids.map(sequence));
  for (const [index, totals] of results.entries()) {
    const id = index + 1;
    expect(totals).toEqual(Array.from({ length }, (_, at) => (at + 1) * id + (at * (at + 1)) / 2));
  }
  expect(kills).toBeGreaterThanOrEqual(3);
});

test('an id names a sequence of one model and one caller', async () => {
  const byOne = step;
  const byOther = (model: string, id: number | string, value: number, flags: object = {}) =>
    step(model, id, value, flags, { 'x-caller': 'other' });
  expect(await byOne('sequence_sum', 77, 1, { sequence_start: true })).toBe(1);
  expect(await byOther('sequence_sum', 77, 10)).toMatch(/must specify the START flag/);
  expect(await byOne('sequence_sum', 77, 100)).toBe(101);
  // Another model, and the same digits as text, are other sequences.
  expect(await byOne('sequence_dyna', 77, 5)).toMatch(/must specify the START flag/);
  expect(await byOne('sequence_sum', '77', 5, { sequence_start: true, sequence_end: true })).toBe(5);
  // A start by the other begins one of its own.
  expect(await byOther('sequence_sum', 77, 1000, { sequence_start: true, sequence_end: true })).toBe(1000);
  expect(await byOne('sequence_sum', 77, 1, { sequence_end: true })).toBe(102);
});

test('a sequence that has ended takes no further step', async () => {
  expect(await step('sequence_dyna', 5, 1, { sequence_start: true })).toBe(1);
  expect(await server.metric('millrace_sequences_live', { model: 'sequence_dyna' })).toBe(1);
  expect(await step('sequence_dyna', 5, 2, { sequence_end: true })).toBe(3 + 5);
  expect(await server.metric('millrace_sequences_live', { model: 'sequence_dyna' })).toBe(0);
  expect(await step('sequence_dyna', 5, 2)).toMatch(/must specify the START flag/);
});
