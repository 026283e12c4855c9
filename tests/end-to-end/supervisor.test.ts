/** `millrace serve` as a supervisor: what kills of its processes, crashes and failed starts look like from outside. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/is-alive.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { type Launch, type LogRecord, ServerProcess } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const model = join(repositoryRoot, 'tests/models/mlp/1/model.onnx');
/** A busy machine takes its time for each start of a router. */
const restartsMsMax = 240_000;
let folder = '';
let server: ServerProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-supervisor-'));
});
afterEach(async () => {
  server?.child.kill('SIGKILL');
  await server?.exit;
  server = undefined;
  rmSync(folder, { recursive: true });
});

async function start(args: readonly string[], launch: Launch = {}): Promise<ServerProcess> {
  const environment = { TMPDIR: folder, ...launch.environment };
  server = await ServerProcess.start(args, { ...launch, environment });
  return server;
}

/** By a connection of its own: one that is refused rejects. */
function statusOf(url: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}${path}`, { agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    call.once('error', reject).end();
  });
}

function restartsOf({ records }: ServerProcess): readonly LogRecord[] {
  return records.filter(({ message }) => message === 'router restarted');
}

function workersOf({ records }: ServerProcess): readonly number[] {
  return records.filter(({ message }) => message === 'worker started').map(({ pid }) => pid as number);
}

/** Ends the router, and resolves when another one listens. */
async function replaceRouter(running: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  const before = running.routerPid;
  process.kill(before, signal);
  await eventually('another router listens', () => running.routerPid !== before, 60_000);
}

describe.runIf(process.platform === 'linux')('a supervised server', () => {
  test('a router that is killed is replaced at once, and no connection is refused meanwhile', {
    timeout: restartsMsMax,
  }, async () => {
    const socket = join(folder, 'admin');
    const running = await start([model, '--management-socket', socket]);
    const { url, grpcUrl, metricsUrl, child } = running;
    for (const signal of ['SIGKILL', 'SIGSEGV'] as const) {
      const [before, workers] = [running.routerPid, workersOf(running)];
      process.kill(before, signal);
      await eventually('the router is gone', () => !isAlive(before));
      // Nobody accepts yet: the connections wait.
      const metrics = metricsUrl.replace('/metrics', '');
      const calls = [statusOf(url, '/v2/health/live'), statusOf(grpcUrl, '/v2'), statusOf(metrics, '/metrics')];
      expect(await Promise.all(calls)).toEqual([200, 200, 200]);
      await eventually('workers of the dead router have ended', () => !workers.some(isAlive), 60_000);
      await eventually('it is ready', async () => (await statusOf(url, '/v2/health/ready')) === 200, 60_000);
      expect(running.routerPid).not.toBe(before);
    }
    expect(restartsOf(running).map(({ cause, exitCode, pauseMs }) => [cause, exitCode, pauseMs])).toEqual(
      Array.from({ length: 2 }, () => ['killed', null, 0]),
    );
    expect(restartsOf(running)[1]).toMatchObject({ level: 'warn', signal: 'SIGSEGV' });
    expect(await running.metric('millrace_router_restarts_total')).toBe(2);
    const asked = request({ socketPath: socket, path: '/v1/management/contexts', agent: false }).end();
    expect(await new Promise((resolve) => asked.once('response', ({ statusCode }) => resolve(statusCode)))).toBe(200);
    expect(child.exitCode).toBeNull();
    expect(await running.stop()).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('what was loaded, unloaded and labelled by request stays so when the router is replaced', {
    timeout: restartsMsMax,
  }, async () => {
    const models = join(repositoryRoot, 'tests/models');
    const loads = ['--load-model', 'mlp', '--load-model', 'add_sub'];
    const running = await start([models, '--model-control-mode', 'explicit', ...loads]);
    const post = async (path: string, body?: object): Promise<number> => {
      const init = { method: 'POST', ...(body && { body: JSON.stringify(body) }) };
      return (await fetch(`${running.url}${path}`, init)).status;
    };
    const statuses = (): Promise<readonly (number | undefined)[]> =>
      Promise.all(
        ['mlp', 'add_sub', 'uploaded', 'mlp@good'].map((name) => statusOf(running.url, `/v2/models/${name}/ready`)),
      );
    await eventually(
      'both are served',
      async () => (await statuses()).slice(0, 2).every((status) => status === 200),
      60_000,
    );
    const config = JSON.stringify({ backend: 'onnxruntime', max_batch_size: 3 });
    const file = readFileSync(model).toString('base64');
    expect(
      await post('/v2/repository/models/uploaded/load', { parameters: { config, 'file:1/model.onnx': file } }),
    ).toBe(200);
    expect(await post('/v2/repository/models/add_sub/unload')).toBe(200);
    const label = await fetch(`${running.url}/v1/management/models/mlp/labels/good`, {
      method: 'PUT',
      body: JSON.stringify({ version: '1' }),
    });
    expect(label.status).toBe(200);
    const before = await statuses();
    expect([before[0], before[2], before[3]]).toEqual([200, 200, 200]);
    expect(before[1]).not.toBe(200);
    await replaceRouter(running, 'SIGKILL');
    await eventually('it serves what it served', async () => `${await statuses()}` === `${before}`, 60_000);
    const kept = (await (await fetch(`${running.url}/v2/models/uploaded/config`)).json()) as { max_batch_size: number };
    expect(kept.max_batch_size).toBe(3);
    expect(await running.stop()).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('listening sockets are open in supervisor and router, and in no worker', async () => {
    const running = await start([model]);
    await replaceRouter(running, 'SIGKILL');
    await eventually('it has a worker', () => workersOf(running).some(isAlive));
    const socketsOf = (pid: number): readonly string[] =>
      readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/${pid}/fd/${fd}`)].filter((link) => link.startsWith('socket:'));
        } catch {
          return [];
        }
      });
    const ofRouter = new Set(socketsOf(running.routerPid));
    const standardStreams = [0, 1, 2].map((fd) => readlinkSync(`/proc/${running.routerPid}/fd/${fd}`));
    const shared = socketsOf(running.child.pid as number).filter(
      (socket) => ofRouter.has(socket) && !standardStreams.includes(socket),
    );
    expect(shared).toHaveLength(3);
    for (const worker of workersOf(running).filter(isAlive)) {
      expect(socketsOf(worker).filter((socket) => shared.includes(socket))).toEqual([]);
    }
  });

  test('a supervisor that is killed before it has the sockets of a router still takes that with it', async () => {
    const running = await start([model]);
    await replaceRouter(running, 'SIGKILL');
    const router = running.routerPid;
    running.child.kill('SIGKILL');
    // Its output is closed some steps before the kernel has ended it.
    await running.exit;
    await eventually('the router has ended', () => !isAlive(router));
  });

  test('a supervisor that is killed takes everything with it, and frees the ports', async () => {
    const running = await start([model]);
    const pids = [running.routerPid, ...workersOf(running)];
    running.child.kill('SIGKILL');
    await running.exit;
    await eventually('no process is left', () => !pids.some(isAlive));
    await expect(statusOf(running.url, '/v2/health/live')).rejects.toThrow('ECONNREFUSED');
  });

  test('a router that crashes again and again gets pauses, and in the end the server ends with its code', {
    timeout: restartsMsMax,
  }, async () => {
    const crashing = `process.on('SIGUSR2', () => { throw new Error('provoked'); });`;
    const preload = join(folder, 'crash.mjs');
    writeFileSync(preload, crashing);
    const running = await start([model], { environment: { NODE_OPTIONS: `--import=${preload}` } });
    for (let crash = 0; crash < 4; crash++) await replaceRouter(running, 'SIGUSR2');
    process.kill(running.routerPid, 'SIGUSR2');
    expect(await running.exit).toBe(1);
    const restarts = restartsOf(running);
    expect(restarts.map(({ cause, exitCode, signal }) => [cause, exitCode, signal])).toEqual(
      Array.from({ length: 4 }, () => ['crashed', 1, null]),
    );
    const pauses = restarts.map(({ pauseMs }) => pauseMs as number);
    expect(pauses[0]).toBe(0);
    for (const [index, atLeast] of [50, 100, 200].entries()) expect(pauses[index + 1]).toBeGreaterThanOrEqual(atLeast);
  });

  test('without supervision the server is one process, and ends with it', async () => {
    const running = await start([model, '--no-supervise']);
    expect(running.routerPid).toBe(running.child.pid);
    running.child.kill('SIGKILL');
    await running.exit;
    await expect(statusOf(running.url, '/v2/health/live')).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a server that cannot start', () => {
  async function ended(...args: string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
    const child = spawn(process.execPath, [millrace, 'serve', ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
    });
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { stderr: await text(child.stderr), code: await code };
  }

  test('tells a configuration error once, and ends with 2', async () => {
    const { code, stderr } = await ended('--http-port', 'x');
    expect(code).toBe(2);
    expect(stderr.match(/--http-port/g)).toHaveLength(1);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('tells that a port is in use once, and ends with 1', async () => {
    const occupant = createServer();
    const port = await new Promise<number>((resolve) => {
      occupant.listen(0, '127.0.0.1', () => resolve((occupant.address() as { port: number }).port));
    });
    const { code, stderr } = await ended(model, '--http-port', String(port), '--grpc-port', '0', '--metrics-port', '0');
    occupant.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^millrace: port \d+ on 127\.0\.0\.1 is in use: [^\n]*\n$/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
