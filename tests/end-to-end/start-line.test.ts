/** The address that a server says at its start is the one it is bound to, whatever the level of its log. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import type { LogRecord } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
let folder = '';
let child: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-start-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Resolves with the line that says where it listens. */
function start(...args: string[]): Promise<LogRecord> {
  const started = spawn(process.execPath, [millrace, 'serve', folder, ...ports, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  return new Promise((resolve, reject) => {
    createInterface({ input: started.stdout }).on('line', (line) => {
      const record = JSON.parse(line) as LogRecord;
      if (record.message === 'listening') resolve(record);
    });
    started.once('exit', (code) => reject(new Error(`ended with ${code} before it listened`)));
  });
}

async function isLive(url: unknown): Promise<boolean> {
  return (await fetch(`${String(url)}/v2/health/live`)).ok;
}

test('at level warn the line is there too, with the port that the system chose', async () => {
  const line = await start('--log-level', 'warn', '--management-socket', join(folder, 'admin'));
  expect(line).toMatchObject({
    level: 'info',
    host: '127.0.0.1',
    managementUrl: `unix:${join(folder, 'admin')}`,
  });
  expect(line.httpUrl).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  expect(await isLive(line.httpUrl)).toBe(true);
});

test('a server on all addresses says so, with a URL that can be called', async () => {
  const line = await start('--host', '0.0.0.0', '--log-level', 'error');
  expect(line.host).toBe('0.0.0.0');
  const page = await fetch(`${String(line.httpUrl)}/`, { headers: { accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('GET  /openapi.json')]);
  expect(await isLive(line.httpUrl)).toBe(true);
});

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

test.skipIf(!hasIpv6)('an IPv6 address is written in brackets', async () => {
  const line = await start('--host', '::1');
  expect(line.httpUrl).toMatch(/^http:\/\/\[::1\]:[1-9]\d*$/);
  expect(await isLive(line.httpUrl)).toBe(true);
});
