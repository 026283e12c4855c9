/** Two real servers that share two workers: neither the other's requests nor its end disturbs a server, and a worker's death costs time alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type CallAnswer, inferOverRest } from '../support/inference-call.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

const program = join(repositoryRoot, 'packages/millrace/bin/millrace-worker.js');
const models = new ModelRepository();
const folder = mkdtempSync(join(tmpdir(), 'millrace-attached-'));
const sockets = ['one', 'two'].map((name) => join(folder, name)) as [string, string];
const workers = new Map<string, ChildProcess>();
const servers: ServerProcess[] = [];

async function startWorker(socket: string): Promise<void> {
  const worker = spawn(process.execPath, [program, '--socket', socket], { stdio: ['ignore', 'ignore', 'pipe'] });
  workers.set(socket, worker);
  await new Promise<void>((resolve) => {
    createInterface(worker.stderr).on('line', (line) => line === `listening on ${socket}` && resolve());
  });
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function startServer(): Promise<ServerProcess> {
  const server = await ServerProcess.start([models.path, ...sockets.flatMap((socket) => ['--worker-socket', socket])]);
  servers.push(server);
  return server;
}

const pipeline = `import { definePipeline } from 'millrace/pipeline';
const number = { datatype: 'INT64', shape: [1] } as const;
export default definePipeline({
  inputs: { steps: number },
  outputs: { steps_done: number },
  async run({ inputs }, context) {
    return { steps_done: (await context.infer('slow', { steps: inputs.steps })).steps_done! };
  },
});`;

beforeAll(async () => {
  addSlowModel(models, 'slow', {}, 'instance_group { count: 2 }');
  models.write('asking/1/pipeline.ts', pipeline);
  await Promise.all(sockets.map(startWorker));
  await Promise.all([startServer(), startServer()]);
});

afterAll(async () => {
  const running = servers.filter(({ child }) => child.exitCode === null && child.signalCode === null);
  for (const server of running) expect(await server.stop()).toBe(0);
  for (const worker of workers.values()) await killed(worker);
  models.remove();
  rmSync(folder, { recursive: true });
});

const stepsDone = (answer: CallAnswer) => answer.outputs.find(({ name }) => name === 'steps_done')?.values;
const call = (server: ServerProcess, count: number, model = 'slow') => inferOverRest(server.url, model, steps(count));

test('both servers get their own answers, and calls of pipelines are answered by the server that was asked', async () => {
  const [one, two] = servers as [ServerProcess, ServerProcess];
  const counts = [1, 2, 3, 4, 5, 6];
  const answers = await Promise.all(
    counts.flatMap((count) => [
      call(one, count),
      call(two, 10 * count),
      call(one, count, 'asking'),
      call(two, 10 * count, 'asking'),
    ]),
  );
  expect(answers.map(stepsDone)).toEqual(
    counts.flatMap((count) => [count, 10 * count, count, 10 * count].map((done) => [BigInt(done)])),
  );
  // Six of each for the callers, and six for the pipelines.
  for (const server of [one, two]) expect(await server.metric('millrace_requests_total', { model: 'slow' })).toBe(12);
  for (const server of [one, two]) expect(server.workerPids('slow:1')).toEqual([undefined, undefined]);
});

test('requests of a worker that is killed are answered by the other, and the worker is attached again when it is back', async () => {
  const [one, two] = servers as [ServerProcess, ServerProcess];
  const worker = workers.get(sockets[0]) as ChildProcess;
  // Keeps what it is given, however fast or busy the machine is.
  worker.kill('SIGSTOP');
  const outstanding = (server: ServerProcess) => server.metric('millrace_outstanding_requests', { model: 'slow' });
  const answers = [one, two].map((server) => {
    const answered: unknown[] = [];
    const calls = Array.from({ length: 8 }, () => call(server, 3).then((answer) => answered.push(stepsDone(answer))));
    return { server, answered, calls };
  });
  for (const { server, answered } of answers) {
    const isHeld = async () => answered.length >= 6 && (await outstanding(server)) === 8 - answered.length;
    await eventually('only what the stopped worker holds is left', isHeld);
    expect(answered.length).toBeLessThan(8);
  }
  await killed(worker);
  for (const { answered, calls } of answers) {
    await Promise.all(calls);
    expect(answered).toEqual(calls.map(() => [3n]));
  }
  for (const server of [one, two]) {
    const lost = server.records.find(({ message, group }) => group === 'slow:1' && message.startsWith('worker exited'));
    expect(lost).toMatchObject({ reason: expect.stringContaining(`the link to the worker at ${sockets[0]} ended`) });
  }
  await startWorker(sockets[0]);
  for (const server of [one, two]) {
    // At the start two were ready for the one model, and one for the other.
    const isBack = () => server.workerPids('slow:1').length >= 3 && server.workerPids('asking:1').length >= 2;
    await eventually('the worker is attached again', isBack, 50_000);
  }
});

test('a server goes on when another is killed in the middle of its requests', async () => {
  const [one, two] = servers as [ServerProcess, ServerProcess];
  const lost = [1, 2].map(() => call(two, 100).catch(() => 'lost'));
  await eventually(
    'they run',
    async () => (await two.metric('millrace_outstanding_requests', { model: 'slow' })) === 2,
  );
  await killed(two.child);
  expect(await Promise.all(lost)).toEqual(['lost', 'lost']);
  expect(stepsDone(await call(one, 7))).toEqual([7n]);
  expect(stepsDone(await call(one, 8, 'asking'))).toEqual([8n]);
});
