import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

/** Built, because Node.js 20 runs no TypeScript: `npm run build` comes before the tests. */
const child = fileURLToPath(new URL('../../dist/testing/serve-child.js', import.meta.url));
const command = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const one of running) one.kill('SIGKILL');
  running.clear();
});

type LogEntry = { readonly message: string; readonly httpUrl?: string };

function start(...args: string[]) {
  const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(started);
  const exit = once(started, 'close') as Promise<[code: number | null, signal: string | null]>;
  let stderr = '';
  started.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  const logged = async (message: string): Promise<LogEntry> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`ended before it said ${message}: ${stderr}`);
      const entry = JSON.parse(value) as LogEntry;
      if (entry.message === message) return entry;
    }
  };
  return { process: started, exit, logged, stderr: () => stderr };
}

const ports = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];

test.each(['SIGTERM', 'SIGINT'] as const)('%s lets the server finish and ends with 0', async (signal) => {
  const server = start(child, 'drains', 'serve', '.', ...ports);
  expect((await server.logged('listening')).httpUrl).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  server.process.kill(signal);
  await server.logged('stopping');
  expect(await server.exit).toEqual([0, null]);
  expect(server.stderr()).toBe('');
});

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('a second signal, %s, ends with %d though a request hangs', async (second, code) => {
  const server = start(child, 'hangs', 'serve', '.', ...ports);
  await server.logged('model ready');
  server.process.kill('SIGTERM');
  await server.logged('stopping');
  server.process.kill(second);
  expect(await server.exit).toEqual([code, null]);
});

test('a request that hangs is cut off after the drain time', async () => {
  const server = start(child, 'hangs', 'serve', '.', ...ports, '--drain-seconds-max', '0.01');
  await server.logged('model ready');
  server.process.kill('SIGTERM');
  expect(await server.exit).toEqual([0, null]);
});

test('a port in use ends with 1 and one line', async () => {
  const occupant = createServer().listen(0, '127.0.0.1');
  await once(occupant, 'listening');
  const address = occupant.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const server = start(child, 'drains', 'serve', '.', '--http-port', String(port));
  expect(await server.exit).toEqual([1, null]);
  expect(server.stderr()).toMatch(/^millrace: port \d+ on 127\.0\.0\.1 is in use: .*--http-port.*\n$/);
  occupant.close();
});

test('the installed command reports a configuration problem with 2', async () => {
  const refused = start(command, 'serve', '--http-port', 'x');
  expect(await refused.exit).toEqual([2, null]);
  expect(refused.stderr()).toContain('--http-port: server.httpPort: must be a whole number');
});
