/** What npm does with signals, seen by a server below it: `npx millrace serve` and `npm start` end with their server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/is-alive.ts';
import { repositoryRoot } from '../support/repository-root.ts';

interface Listening {
  readonly httpUrl: string;
  readonly pid: number;
}

const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
  scripts: { start: string };
};
const settings = {
  MILLRACE_HTTP_PORT: '0',
  MILLRACE_GRPC_PORT: '0',
  MILLRACE_METRICS_PORT: '0',
  MILLRACE_MANAGEMENT_SOCKET: 'admin',
  MILLRACE_LOG_FORMAT: 'json',
};
let folder = '';
let child: ChildProcess | undefined;
let server = 0;
let output = '';

/** A project of its own with the start script of this repository, without the build. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-npm-'));
  output = '';
  server = 0;
  mkdirSync(join(folder, 'models'));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(join(repositoryRoot, 'packages/millrace/bin/millrace.js'), join(folder, 'node_modules/.bin/millrace'));
  const start = scripts.start.replace('npm run build', 'true');
  expect(start).not.toBe(scripts.start);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, scripts: { start } }));
});
afterEach(() => {
  child?.kill('SIGKILL');
  if (server !== 0 && isAlive(server)) process.kill(server, 'SIGKILL');
  rmSync(folder, { recursive: true });
});

const inTerminal = `
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])) & 127)`;

const ways = {
  'npm start': ['npm', 'start', '--silent'],
  'npx millrace serve': ['npx', '--no', 'millrace', 'serve', './models'],
};

async function start(way: keyof typeof ways, hasTerminal = false): Promise<Listening> {
  const [command = '', ...args] = hasTerminal ? ['python3', '-c', inTerminal, ...ways[way]] : ways[way];
  child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...settings },
    // npx waits for the end of a pipe; the terminal needs one for its keys.
    stdio: [hasTerminal ? 'pipe' : 'ignore', 'pipe', 'ignore'],
  });
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const lineOf = () => output.split('\n').find((line) => line.includes('"listening"'));
  await eventually('it listens', () => lineOf() !== undefined, 50_000);
  const { httpUrl } = JSON.parse(lineOf() as string) as Listening;
  server = serverBelow(child.pid as number);
  expect(server).toBeGreaterThan(0);
  return { httpUrl, pid: server };
}

/** The process below this one that has the server's management socket open. */
function serverBelow(pid: number): number {
  for (const task of childrenOf(pid)) {
    if (/^[^\0]*node\0[^\0]*millrace\0serve\0/.test(readFileSync(`/proc/${task}/cmdline`, 'latin1'))) return task;
    const found = serverBelow(task);
    if (found !== 0) return found;
  }
  return 0;
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function isFree(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

const everyWay = Object.keys(ways) as (keyof typeof ways)[];

// SIGINT to npx alone reaches nobody: its shell keeps it until the server has ended by itself.
const signalsPassedOn = [
  ['npm start', 'SIGTERM'],
  ['npm start', 'SIGINT'],
  ['npx millrace serve', 'SIGTERM'],
] as const;

test.each(signalsPassedOn)('%s: %s to npm stops the server in order and frees its port', async (way, signal) => {
  const { httpUrl, pid } = await start(way);
  child?.kill(signal);
  await once(child as ChildProcess, 'close');
  await eventually('the server has ended', () => !isAlive(pid));
  expect(await isFree(httpUrl)).toBe(true);
  expect(output).toContain('"stopping"');
  expect(existsSync(join(folder, 'admin'))).toBe(false);
});

test.each(everyWay)('%s: Ctrl-C, which npm passes on a second time, still lets requests finish', async (way) => {
  const { pid } = await start(way, true);
  child?.stdin?.write('\x03');
  await once(child as ChildProcess, 'close');
  await eventually('the server has ended', () => !isAlive(pid));
  // A server that ended at once would have left its socket.
  expect(existsSync(join(folder, 'admin'))).toBe(false);
});

test('a server whose npm was killed goes on serving: nobody told it to stop', async () => {
  const { httpUrl, pid } = await start('npm start');
  child?.kill('SIGKILL');
  await once(child as ChildProcess, 'exit');
  expect((await fetch(`${httpUrl}/v2/health/live`)).status).toBe(200);
  process.kill(pid, 'SIGTERM');
  await eventually('the server has ended', () => !isAlive(pid));
});
