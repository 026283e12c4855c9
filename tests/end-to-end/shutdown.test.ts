/** How a server ends: in order, at once, or by force; and that nothing of it is left behind. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { isAlive } from '../support/is-alive.ts';
import { isConnectionRefused } from '../support/raw-call.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

const models = new ModelRepository();
let running: ServerProcess | undefined;

beforeAll(() => addSlowModel(models, 'slow'));
afterAll(() => models.remove());
afterEach(() => running?.child.kill('SIGKILL'));

async function start(...options: readonly string[]): Promise<ServerProcess> {
  running = await ServerProcess.start([models.path, ...options]);
  return running;
}

const outstanding = (server: ServerProcess) => server.metric('millrace_outstanding_requests', { model: 'slow' });

/** Every process that the server started. */
function workersOf(server: ServerProcess): readonly number[] {
  const pids = server.records.filter(({ message }) => message === 'worker started').map(({ pid }) => pid as number);
  expect(pids.length).toBeGreaterThan(0);
  return pids;
}

test('SIGTERM under load: what is in progress is answered, new connections are refused, and all ends with 0', async () => {
  const server = await start();
  let answered = 0;
  const calls = Array.from({ length: 3 }, async () => {
    const { status } = await inferOverRest(server.url, 'slow', steps(400));
    answered += 1;
    return status;
  });
  await eventually('three requests are in progress', async () => (await outstanding(server)) === 3);
  const workers = workersOf(server);
  server.child.kill('SIGTERM');
  await eventually('new connections are refused', () => isConnectionRefused(server.url));
  expect(answered).toBeLessThan(3);
  expect(await Promise.all(calls)).toEqual([200, 200, 200]);
  expect(await server.exit).toBe(0);
  expect(workers.filter(isAlive)).toEqual([]);
  expect(server.records.map(({ message }) => message)).toContain('stopping');
});

test('with a notice time the server reports not ready and keeps serving; a second signal ends it at once', async () => {
  const server = await start('--shutdown-notice-seconds', '600');
  const workers = workersOf(server);
  server.child.kill('SIGTERM');
  const isReady = async () => (await fetch(`${server.url}/v2/health/ready`)).ok;
  await eventually('it is not ready', async () => !(await isReady()));
  expect((await fetch(`${server.url}/v2/health/live`)).status).toBe(200);
  expect((await inferOverRest(server.url, 'slow', steps(1))).status).toBe(200);
  const abandoned = inferOverRest(server.url, 'slow', steps(5000)).catch(() => 'cut off');
  await eventually('a long request runs', async () => (await outstanding(server)) === 1);
  server.child.kill('SIGINT');
  expect(await server.exit).toBe(130);
  expect(await abandoned).toBe('cut off');
  await eventually('no worker is left', () => !workers.some(isAlive));
});

test('a drain that takes too long is ended with a warning, and leaves no worker behind', async () => {
  const server = await start('--drain-seconds-max', '0.1');
  const abandoned = inferOverRest(server.url, 'slow', steps(5000)).catch(() => 'cut off');
  await eventually('a long request runs', async () => (await outstanding(server)) === 1);
  const workers = workersOf(server);
  expect(await server.stop()).toBe(0);
  expect(await abandoned).toBe('cut off');
  expect(workers.filter(isAlive)).toEqual([]);
  const warning = server.records.find(({ level }) => level === 'warn');
  expect(warning?.message).toContain('raise shutdown.drainSecondsMax');
});

test('busy workers end when their server is killed with SIGKILL', async () => {
  const server = await start();
  const abandoned = inferOverRest(server.url, 'slow', steps(5000)).catch(() => 'cut off');
  await eventually('a long request runs', async () => (await outstanding(server)) === 1);
  const workers = workersOf(server);
  server.child.kill('SIGKILL');
  expect(await abandoned).toBe('cut off');
  await eventually('no worker is left', () => !workers.some(isAlive), 2_000);
});
