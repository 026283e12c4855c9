/** SIGHUP on a real server: certificates and settings change without a restart, and a broken file changes nothing. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, type TLSSocket } from 'node:tls';
import { testAuthority } from '@millrace/http/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import type { LogRecord } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
let folder = '';
let child: ChildProcess | undefined;
let records: LogRecord[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-reload-'));
  records = [];
});

afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function writeConfig(...lines: string[]): string {
  return write(
    'millrace.yaml',
    ['models:', '  paths: [.]', 'server:', '  httpPort: 0', '  grpcPort: 0', '  metricsPort: 0', ...lines, ''].join(
      '\n',
    ),
  );
}

async function start(config: string): Promise<number> {
  child = spawn(process.execPath, [millrace, 'serve', '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    records.push(JSON.parse(line) as LogRecord);
  });
  await eventually('it listens', () => records.some(({ message }) => message === 'listening'));
  return Number(new URL(records.find(({ message }) => message === 'listening')?.httpUrl as string).port);
}

/** Resolves with the records that the reload wrote. */
async function hangUp(message: string): Promise<readonly LogRecord[]> {
  const before = records.length;
  child?.kill('SIGHUP');
  await eventually(`it says ${message}`, () => records.slice(before).some((record) => record.message === message));
  return records.slice(before);
}

async function dial(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

const nameShown = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;

async function statusOver(socket: TLSSocket): Promise<string> {
  socket.write('GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString().split('\r\n')[0] as string;
}

test('a new certificate is used for new connections, and a broken one leaves the server as it is', async () => {
  const old = testAuthority('old');
  const next = testAuthority('next');
  write('cert.pem', old.cert);
  write('key.pem', old.key);
  const port = await start(writeConfig('tls:', '  certificateFile: cert.pem', '  keyFile: key.pem'));
  const open = await dial(port);
  expect(nameShown(open)).toBe('old');

  write('cert.pem', next.cert);
  const failed = await hangUp('reload failed; the previous configuration and certificates stay in use');
  expect(failed.at(-1)?.problems).toEqual([expect.stringContaining('cannot be used together')]);
  const afterFailure = await dial(port);
  expect(nameShown(afterFailure)).toBe('old');
  afterFailure.destroy();

  write('key.pem', next.key);
  await hangUp('configuration reloaded');
  const afterReload = await dial(port);
  expect(nameShown(afterReload)).toBe('next');
  expect(await statusOver(afterReload)).toBe('HTTP/1.1 200 OK');
  expect(await statusOver(open)).toBe('HTTP/1.1 200 OK');
  afterReload.destroy();
  open.destroy();
});

test('settings that can change are applied, others are named, and a misspelt one changes nothing', async () => {
  const config = writeConfig();
  await start(config);
  writeConfig('shutdown:', '  drainSecondsMax: 5', 'http:', '  bodyBytesMax: 300MiB');
  const reloaded = await hangUp('changed settings take effect after a restart');
  expect(reloaded).toMatchObject([
    { level: 'info', applied: ['shutdown.drainSecondsMax'] },
    { level: 'warn', fields: ['http.bodyBytesMax'] },
  ]);
  writeConfig('shutdwn:', '  drainSecondsMax: 1', 'log:', '  level: error');
  const failed = await hangUp('reload failed; the previous configuration and certificates stay in use');
  expect(failed.at(-1)?.problems).toEqual([expect.stringContaining('shutdwn')]);
  child?.kill('SIGTERM');
  await eventually('it stops', () => records.some(({ message }) => message === 'stopping'));
});

/** Gives its arguments a terminal of their own, closes it when it is told to, and says which signal ended them. */
const withClosedTerminal = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b''
while b'Ctrl-C stops' not in seen:
    seen += os.read(terminal, 4096)
sys.stdin.readline()
os.close(terminal)
sys.exit(os.WTERMSIG(os.waitpid(pid, 0)[1]))`;

test('a server whose terminal is closed stops in order', async () => {
  const socket = join(folder, 'management');
  const serve = [millrace, 'serve', '--config', writeConfig('management:', '  socket: management')];
  child = spawn('python3', ['-c', withClosedTerminal, process.execPath, ...serve], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  await eventually('it listens', () => existsSync(socket));
  const closed = once(child, 'close');
  child.stdin?.end('now\n');
  const [signal] = (await closed) as [number | null];
  expect(signal).toBe(constants.signals.SIGHUP);
  // The signal alone would have left it.
  expect(existsSync(socket)).toBe(false);
});
