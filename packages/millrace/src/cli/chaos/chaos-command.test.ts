import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runArguments } from '../../testing/run-arguments.ts';
import { controlConnectionsMax } from './chaos-control.ts';

let echo: Server;
let target: string;

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  target = `127.0.0.1:${(echo.address() as { port: number }).port}`;
});
afterEach(() => new Promise((resolve) => echo.close(resolve)));

/** The command as it runs: its lines as they come, and its standard input. */
function chaos(...args: string[]) {
  const stdin = new PassThrough();
  const out = new PassThrough();
  const lines = createInterface({ input: out })[Symbol.asyncIterator]();
  const done = runArguments({
    args: ['chaos', target, ...args],
    cwd: '.',
    stdin,
    stdout: { write: (text) => out.write(text) },
    delay: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
    now: () => performance.now(),
  });
  const line = async (): Promise<string> => String((await lines.next()).value);
  return { stdin, done, line };
}

function addressIn(line: string, name = 'listening on'): { host: string; port: number } {
  const [, host = '', port] = new RegExp(`${name} (\\S+):(\\d+)`).exec(line) ?? [];
  return { host, port: Number(port) };
}

test('faults come by standard input, each event is a line, and quit ends it with 0', async () => {
  const { stdin, done, line } = chaos();
  const begin = await line();
  expect(begin).toMatch(/^listening on 127\.0\.0\.1:\d+, forwarding to 127\.0\.0\.1:\d+$/);
  const socket = connect(addressIn(begin));
  socket.on('error', () => {});
  expect(await line()).toMatch(/^ +\d+\.\d{3} {2}connection 1 opened from 127\.0\.0\.1:\d+$/);
  socket.write('abc');
  await once(socket, 'data');
  stdin.write('status\n\nexplode\nreset\n');
  expect(await line()).toBe('ok 1 connections');
  expect(await line()).toMatch(/reset on 1 connections$/);
  expect(await line()).toMatch(/connection 1 ended \(reset\), 3 bytes up, 3 down$/);
  stdin.write('quit\n');
  const { code, stderr } = await done;
  expect(code).toBe(0);
  expect(stderr).toMatch(/^millrace: error: "explode" is not a fault; give one of cut/);
});

test('the control port answers each command, and takes as many connections as it says', async () => {
  const { done, line } = chaos('--control-port', '0', '--no-stdin');
  const control = addressIn(await line(), 'commands on');
  const sockets = Array.from({ length: controlConnectionsMax }, () => connect(control));
  const answers = sockets.map((socket) => createInterface({ input: socket })[Symbol.asyncIterator]());
  for (const [index, socket] of sockets.entries()) {
    socket.write('status\n');
    expect((await answers[index]?.next())?.value).toBe('ok 0 connections');
  }
  const refused = createInterface({ input: connect(control) })[Symbol.asyncIterator]();
  expect((await refused.next()).value).toBe(`error: there are ${controlConnectionsMax} control connections already`);
  const [first] = sockets;
  first?.write('delay 5\ndelay 5ms for 10s\n');
  expect((await answers[0]?.next())?.value).toMatch(/^error: delay needs a time .* not "5"; also known: status, quit$/);
  expect((await answers[0]?.next())?.value).toBe('ok');
  expect(await line()).toMatch(/delay 5ms for 10000ms on 0 connections$/);
  first?.write('quit\n');
  expect((await done).code).toBe(0);
});

test('faults come at the given times and at random by the seed, as JSON if asked', async () => {
  const { done, line } = chaos(
    '--json',
    '--at',
    '1ms=cut',
    '--random',
    '10ms',
    '--faults',
    'limit',
    '--duration',
    '400ms',
  );
  expect(JSON.parse(await line())).toMatchObject({ event: 'listening', target });
  const seen = new Set<string>();
  while (seen.size < 2) {
    const { event, fault } = JSON.parse(await line()) as { readonly event: string; readonly fault: string };
    if (event === 'fault') seen.add(fault.split(' ')[0] as string);
  }
  expect(seen).toEqual(new Set(['cut', 'limit']));
  expect((await done).code).toBe(0);
});

test.each([
  [[], /^millrace chaos: needs the address to forward to: millrace chaos 127\.0\.0\.1:8001/],
  [['nowhere'], /cannot forward to "nowhere"/],
  [['1:70000'], /cannot forward to "1:70000"/],
  [['8001', '--listen', 'x'], /--listen must be a port or HOST:PORT, not "x"/],
  [['8001', '--at', 'cut'], /--at must be TIME=FAULT, like '5s=reset', not "cut"/],
  [['8001', '--at', '5=cut'], /--at needs a time up to 24h with its unit/],
  [['8001', '--faults', 'cut'], /--faults has no effect without --random TIME/],
  [['8001', '--random', '1ms'], /--random must be at least 10ms/],
  [['8001', '--random', '1s', '--faults', 'cat'], /--faults "cat" is none of cut, .* Did you mean cut\?/],
  [['8001', '--buffer', '12'], /--buffer must be from 1KiB to 256MiB, not "12"/],
  [['8001', '--connections-max', '0'], /--connections-max must be a whole number from 1 to 65536, not "0"/],
])('%j is refused with exit code 2', async (args, message) => {
  const { code, stderr } = await runArguments({ args: ['chaos', ...args], cwd: '.' });
  expect(stderr.replace(/^millrace: (--\S+):/, '$1')).toMatch(message);
  expect(code).toBe(2);
});

test('a port that is taken is said with exit code 1', async () => {
  const { port } = echo.address() as { port: number };
  const { code, stderr } = await runArguments({ args: ['chaos', target, '--listen', String(port)], cwd: '.' });
  expect(stderr).toMatch(/cannot listen: .*EADDRINUSE.*; choose another port with --listen/);
  expect(code).toBe(1);
});
