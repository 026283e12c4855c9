/** What pipelines print reaches the log of the server, within limits. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const pipeline = `
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { what: { datatype: 'BYTES', shape: [1] } },
  outputs: { done: { datatype: 'INT32', shape: [1] } },
  run({ inputs }) {
    const what = new TextDecoder().decode(inputs.what.data[0]);
    if (what === 'throw') throw new Error('the pipeline broke');
    if (what === 'endless') for (let line = 0; line < 100_000; line++) console.log('noise ' + line);
    console.log('printed ' + what);
    console.error('complained ' + what);
    return { done: { data: Int32Array.of(1) } };
  },
});`;

const models = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  models.write('talker/1/pipeline.mjs', pipeline);
  server = await ServerProcess.start([models.path]);
});

afterAll(async () => {
  await server.stop();
  models.remove();
});

async function say(what: string): Promise<number> {
  const inputs = [{ name: 'what', datatype: 'BYTES', shape: [1], data: [what] }];
  const body = JSON.stringify({ inputs });
  return (await fetch(`${server.url}/v2/models/talker/infer`, { method: 'POST', body })).status;
}

const printed = () => server.records.filter(({ message }) => message === 'worker output');
const logged = (text: string) => printed().find((record) => String(record.text).includes(text));

test('console.log is logged at info and console.error at warn, with the group and the process', async () => {
  expect(await say('hello')).toBe(200);
  await eventually('both are logged', () => logged('printed') !== undefined && logged('complained') !== undefined);
  const [pid] = server.workerPids('talker:1');
  expect(pid).toBeGreaterThan(0);
  expect(logged('printed')).toMatchObject({ level: 'info', group: 'talker:1', pid, text: 'printed hello' });
  expect(logged('complained')).toMatchObject({ level: 'warn', group: 'talker:1', pid, text: 'complained hello' });
});

test('an error that a pipeline throws is logged with its stack', async () => {
  expect(await say('throw')).toBe(500);
  await eventually('it is logged', () => logged('the pipeline broke') !== undefined);
  expect(logged('the pipeline broke')).toMatchObject({ level: 'warn', group: 'talker:1' });
  expect(logged('the pipeline broke')?.text).toMatch(/^a run failed: Error: the pipeline broke \| at .*pipeline\.mjs/);
});

test('a pipeline that prints without end is logged in part, and goes on serving', async () => {
  expect(await say('endless')).toBe(200);
  expect(await say('again')).toBe(200);
  expect(printed().length).toBeLessThanOrEqual(300);
  expect(logged('noise 0')).toBeDefined();
});
