/** The child processes of a server as the kernel sees them: privileges, user, OOM score, and what they leave behind. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityModel, ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { ServerProcess } from '../support/server-process.ts';

const explicit = ['--model-control-mode', 'explicit', '--load-model', '*'];
const group = 'm:1';
const model = identityModel([{ datatype: 'FP32', shape: ['n'] }]);

let work: string;
let temporary: string;
let repository: ModelRepository;
const servers: ServerProcess[] = [];

beforeEach(() => {
  work = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-confined-')));
  temporary = join(work, 'temporary');
  mkdirSync(temporary);
  chmodSync(work, 0o755);
  repository = new ModelRepository();
  chmodSync(repository.path, 0o755);
  repository.write('m/1/model.onnx', model);
});

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  repository.remove();
  rmSync(work, { recursive: true });
});

async function start(...args: readonly string[]): Promise<ServerProcess> {
  const environment = { TMPDIR: temporary };
  const server = await ServerProcess.start([repository.path, '--no-share-workers', ...explicit, ...args], {
    environment,
  });
  servers.push(server);
  return server;
}

function status(pid: number | undefined, field: string): string {
  return new RegExp(`^${field}:[ \\t]*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
}

function workerOf(server: ServerProcess): number {
  return server.workerPids(group).at(-1) as number;
}

/** The answer to a call of the model, or the load of another from a file that comes along. */
async function post(server: ServerProcess, path: string, body: object): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${server.url}/v2/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

function load(server: ServerProcess, name: string): Promise<{ status: number; text: string }> {
  const file = Buffer.from(model).toString('base64');
  return post(server, `repository/models/${name}/load`, {
    parameters: { config: JSON.stringify({ backend: 'onnxruntime' }), 'file:1/model.onnx': file },
  });
}

function callOf(server: ServerProcess, name: string): Promise<{ status: number; text: string }> {
  const input = { name: 'input0', datatype: 'FP32', shape: [2], data: [1, 2] };
  return post(server, `models/${name}/infer`, { inputs: [input] });
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && status(pid, 'State')[0] !== 'Z';
}

describe.runIf(process.platform === 'linux')('on Linux', () => {
  test('workers have a lower scheduling priority than the router where that is configured', async () => {
    const server = await start('--worker-niceness', '5');
    const worker = workerOf(server) as number;
    const lowered = Math.min(19, getPriority(server.routerPid) + 5);
    const threads = readdirSync(`/proc/${worker}/task`).map(Number);
    expect(threads.map((thread) => getPriority(thread))).toEqual(threads.map(() => lowered));
  });

  test('workers are killed before the router when memory runs out, and cannot gain privileges', async () => {
    const server = await start();
    const scoreOf = (pid: number | undefined) => Number(readFileSync(`/proc/${pid}/oom_score`, 'utf8'));
    expect(readFileSync(`/proc/${workerOf(server)}/oom_score_adj`, 'utf8')).toBe('1000\n');
    expect(scoreOf(workerOf(server))).toBeGreaterThan(scoreOf(server.routerPid));
    expect(status(workerOf(server), 'NoNewPrivs')).toBe('1');
    expect(status(server.routerPid, 'NoNewPrivs')).toBe('1');
  });

  test('their environment has the private folder and no telemetry', async () => {
    const server = await start();
    const [folder = ''] = readdirSync(temporary);
    const variables = readFileSync(`/proc/${workerOf(server)}/environ`, 'utf8').split('\0');
    const children = join(temporary, folder, 'children');
    for (const one of [`TMPDIR=${children}`, `HOME=${children}`, 'ORT_DISABLE_TELEMETRY=1']) {
      expect(variables).toContain(one);
    }
    expect(readdirSync(children)).toEqual([]);
  });

  test('a server that stops leaves nothing behind', async () => {
    const server = await start();
    expect(await load(server, 'uploaded')).toMatchObject({ status: 200 });
    expect(readdirSync(temporary)).toHaveLength(1);
    await server.stop();
    expect(readdirSync(temporary)).toEqual([]);
  });

  test('workers end with a router that is killed, and the next start removes its folder but none of a living server', async () => {
    const [living, killed] = [await start(), await start()];
    expect(await load(killed, 'uploaded')).toMatchObject({ status: 200 });
    const folderOf = ({ child }: ServerProcess) =>
      readdirSync(temporary).find((name) => name.startsWith(`millrace-server-${child.pid}-`));
    const left = folderOf(killed) as string;
    expect(readdirSync(join(temporary, left, 'lasting/loads')).some((name) => name.startsWith('uploaded-'))).toBe(true);
    const worker = workerOf(killed);
    killed.child.kill('SIGKILL');
    await killed.exit;
    await eventually('the worker has ended', () => !isAlive(worker));
    expect(existsSync(join(temporary, left))).toBe(true);

    const next = await start();
    expect(readdirSync(temporary).sort()).toEqual([folderOf(living), folderOf(next)].sort());
    expect(await load(living, 'uploaded')).toMatchObject({ status: 200 });
    expect(await callOf(living, 'uploaded')).toMatchObject({ status: 200 });
  });

  test('nothing of a server has a name in shared memory', async () => {
    const before = new Set(readdirSync('/dev/shm'));
    await start();
    expect(readdirSync('/dev/shm').filter((name) => !before.has(name) && /millrace/.test(name))).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux' && process.geteuid?.() === 0)('as root on Linux', () => {
  test('workers run as another user, with shared memory, files that come with a load, and after a restart', async () => {
    const store = join(work, 'store');
    const server = await start('--worker-user', 'nobody', '--store-path', store);
    const nobody = String(statSync(join(temporary, readdirSync(temporary)[0] as string, 'children')).uid);
    expect(status(workerOf(server), 'Uid').split('\t')).toEqual([nobody, nobody, nobody, nobody]);
    expect(status(workerOf(server), 'Groups').trim()).toBe('');
    expect(status(workerOf(server), 'CapEff')).toBe('0000000000000000');
    expect(readFileSync(`/proc/${workerOf(server)}/oom_score_adj`, 'utf8')).toBe('1000\n');
    expect(server.records.filter(({ message }) => message.includes('copied to workers'))).toEqual([]);
    expect(await load(server, 'uploaded')).toMatchObject({ status: 200 });
    for (const name of ['m', 'uploaded']) expect(await callOf(server, name)).toMatchObject({ status: 200 });
    // Workers may pass through the store's folder to those files, and read nothing else in it.
    expect((statSync(store).mode & 0o7777).toString(8)).toBe('710');
    expect((statSync(join(store, 'data.mdb')).mode & 0o7777).toString(8)).toBe('600');
    await server.stop();
    expect(readdirSync(temporary)).toEqual([]);

    const again = await start('--worker-user', 'nobody', '--store-path', store);
    expect(await callOf(again, 'uploaded')).toMatchObject({ status: 200 });
  });

  test('the next start removes what workers of another user left behind', async () => {
    const server = await start('--worker-user', 'nobody');
    server.child.kill('SIGKILL');
    await server.exit;
    expect(readdirSync(temporary)).toHaveLength(1);
    const next = await start();
    expect(readdirSync(temporary)).toEqual([expect.stringContaining(`-${next.child.pid}-`)]);
  });

  test('a user that cannot read the models is refused at the start, with what to do', async () => {
    chmodSync(repository.path, 0o700);
    const args = [repository.path, ...explicit, '--worker-user', 'nobody'];
    await expect(ServerProcess.start(args, { environment: { TMPDIR: temporary } })).rejects.toThrow('ended with 2');
    expect(readdirSync(temporary)).toEqual([]);
  });
});
