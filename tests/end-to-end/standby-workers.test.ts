/** A real worker dies: a process that was started before takes its place, with the same confinement, and is replaced in turn. */
import { readFileSync } from 'node:fs';
import { identityModel, ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const group = 'm:1';

let repository: ModelRepository;
let server: ServerProcess | undefined;

beforeEach(() => {
  repository = new ModelRepository();
  repository.write('m/1/model.onnx', identityModel([{ datatype: 'FP32', shape: ['n'] }]));
});

afterEach(async () => {
  await server?.stop();
  server = undefined;
  repository.remove();
});

async function start(...args: readonly string[]): Promise<ServerProcess> {
  server = await ServerProcess.start([repository.path, '--no-share-workers', ...args]);
  return server;
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

async function answerOf({ url }: ServerProcess): Promise<unknown> {
  const inputs = [{ name: 'input0', datatype: 'FP32', shape: [2], data: [1, 2] }];
  const answer = await fetch(`${url}/v2/models/m/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
  return ((await answer.json()) as { readonly outputs?: readonly { readonly data: unknown }[] }).outputs?.[0]?.data;
}

/** The process that serves after `worker`; its log record may come after the answer. */
async function successorOf(running: ServerProcess, worker: number): Promise<number> {
  const latest = (): number => running.workerPids(group).at(-1) as number;
  await eventually('another worker is ready', () => latest() !== worker);
  return latest();
}

const standbysOf = (running: ServerProcess): Promise<number> =>
  running.metric('millrace_workers', { state: 'standby' });

test.runIf(process.platform === 'linux')(
  'a dead worker is replaced by the standby, and the standby by another',
  async () => {
    const running = await start();
    await eventually('a standby waits', async () => (await standbysOf(running)) === 1);
    const before = childrenOf(running.routerPid);
    const worker = running.workerPids(group).at(-1) as number;
    process.kill(worker, 'SIGKILL');
    expect(await answerOf(running)).toEqual([1, 2]);
    const successor = running.workerPids(group).at(-1) as number;
    expect(successor).not.toBe(worker);
    expect(before).toContain(successor);
    await eventually('another standby waits', async () => (await standbysOf(running)) === 1);
    expect(childrenOf(running.routerPid).some((pid) => !before.includes(pid))).toBe(true);
  },
);

test.runIf(process.platform === 'linux')('with none a dead worker is replaced by a new process', async () => {
  const running = await start('--worker-standby', '0');
  const before = childrenOf(running.routerPid);
  const worker = running.workerPids(group).at(-1) as number;
  process.kill(worker, 'SIGKILL');
  expect(await answerOf(running)).toEqual([1, 2]);
  expect(before).not.toContain(await successorOf(running, worker));
  expect(await standbysOf(running)).toBe(0);
});
