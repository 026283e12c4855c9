/** Sequences of several callers on a real server: whose id it is, and who gets the slots. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inferFrom } from '../support/call-from.ts';
import { type InferClient, openInferClient } from '../support/callers.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const slots = 8;
const models = new ModelRepository();
let server: ServerProcess;
let client: InferClient;

beforeAll(async () => {
  models.copy(join(repositoryRoot, 'tests/models/sequence_sum'));
  const config = join(models.path, 'sequence_sum/config.pbtxt');
  const text = readFileSync(config, 'utf8').replace('microseconds: 5000000', 'microseconds: 1000000');
  writeFileSync(config, text);
  server = await ServerProcess.start([models.path]);
  client = openInferClient(server);
});

afterAll(async () => {
  client.close();
  expect(await server.stop()).toBe(0);
  models.remove();
});

async function step(from: string, id: number | string, value: number, flags: object = {}): Promise<number | string> {
  const inputs = [{ name: 'INPUT', datatype: 'INT32' as const, shape: [1, 1], values: [value] }];
  const parameters = { sequence_id: id, ...flags };
  const answer = await inferFrom(from, server.url, 'sequence_sum', inputs, { parameters });
  return answer.status === 200 ? Number(answer.outputs[0]?.values[0]) : answer.error;
}

function stepOverGrpc(id: number, value: number): Promise<number> {
  const request = {
    model_name: 'sequence_sum',
    inputs: [{ name: 'INPUT', datatype: 'INT32', shape: [1, 1] }],
    raw_input_contents: [Buffer.from(Int32Array.of(value).buffer)],
    parameters: { sequence_id: { int64_param: id } },
  };
  return new Promise((resolve, reject) => {
    client.ModelInfer(request, (error, answer) => {
      if (error !== null) reject(error);
      else resolve(answer?.raw_output_contents[0]?.readInt32LE(0) ?? Number.NaN);
    });
  });
}

test('the same id from two addresses is two sequences, and a third caller reaches neither', async () => {
  const start = { sequence_start: true };
  expect(await step('127.0.0.2', 77, 1, start)).toBe(1);
  expect(await step('127.0.0.3', 77, 100, start)).toBe(100);
  expect(await step('127.0.0.4', 77, 5)).toMatch(/must specify the START flag/);
  expect(await step('127.0.0.2', 77, 2)).toBe(3);
  expect(await step('127.0.0.3', 77, 200, { sequence_end: true })).toBe(300);
  expect(await step('127.0.0.2', 77, 3, { sequence_end: true })).toBe(6);
});

test('one caller goes on with a sequence over any connection and protocol', async () => {
  expect(await step('127.0.0.1', 78, 1, { sequence_start: true })).toBe(1);
  expect(await stepOverGrpc(78, 2)).toBe(3);
  expect(await step('127.0.0.1', 78, 3, { sequence_end: true })).toBe(6);
});

test('a caller that holds every slot loses one to a caller that waits, and keeps its share', async () => {
  const hoarder = '127.0.0.2';
  const ids = Array.from({ length: slots }, (_, index) => index + 1);
  const starts = await Promise.all(ids.map((id) => step(hoarder, id, id, { sequence_start: true })));
  expect(starts).toEqual(ids);
  let isOver: boolean = false;
  const kept = ids.map(async (id) => {
    let last: number | string = id;
    while (!isOver && typeof last === 'number') last = await step(hoarder, id, 1);
    return typeof last === 'number';
  });
  expect(await step('127.0.0.3', 1, 1000, { sequence_start: true, sequence_end: true })).toBe(1000);
  isOver = true;
  const survivors = (await Promise.all(kept)).filter((isKept) => isKept).length;
  expect(survivors).toBeLessThan(slots);
  expect(survivors).toBeGreaterThanOrEqual(1);
  const byReason = (reason: string) =>
    server.metric('millrace_sequences_ended_total', { model: 'sequence_sum', reason });
  expect((await byReason('reclaimed')) + (await byReason('idle'))).toBeGreaterThanOrEqual(1);
});
