import { EventEmitter } from 'node:events';
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Config, Options } from '../config/fields.ts';
import { resolveConfig } from '../config/resolve-config.ts';
import type { StartServer } from '../running-server.ts';
import { ServerDouble, servedModelStatus } from '../testing/server-double.ts';
import { repeatedSignalMs, type ServeParts, serve } from './serve.ts';

interface Setup {
  readonly options?: Options;
  readonly startServer?: StartServer;
  readonly isTerminal?: boolean;
  readonly delay?: ServeParts['delay'];
  readonly loadConfig?: () => Config;
  readonly watchParent?: ServeParts['watchParent'];
  readonly hasTerminal?: () => boolean;
}

function configOf(options: Options = {}): Config {
  return resolveConfig({ options: { models: { paths: ['/models'] }, ...options }, cwd: '/' });
}

function serving(server: ServerDouble, setup: Setup = {}) {
  const signals = new EventEmitter();
  const told: string[] = [];
  const exits: number[] = [];
  const complaints: string[] = [];
  const time = { ms: 0 };
  const exitCode = serve({
    loadConfig: setup.loadConfig ?? (() => configOf(setup.options)),
    version: '0.1.0',
    startServer: setup.startServer ?? (() => Promise.resolve(server)),
    terminal: { write: (text) => void told.push(text), isTerminal: setup.isTerminal ?? false, hasColours: false },
    complain: (text) => void complaints.push(text),
    signals,
    hasTerminal: setup.hasTerminal ?? (() => false),
    watchParent: setup.watchParent ?? (() => () => {}),
    delay: setup.delay ?? (() => new Promise(() => {})),
    now: () => time.ms,
    exitNow: (code) => void exits.push(code),
  });
  const entries = () => told.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { exitCode, signals, told, entries, exits, complaints, time };
}

test.each(['SIGINT', 'SIGTERM'] as const)('%s stops the server in order and ends with 0', async (signal) => {
  const server = new ServerDouble([servedModelStatus()]);
  const { exitCode, signals, entries } = serving(server);
  signals.emit(signal);
  expect(await exitCode).toBe(0);
  expect(server.calls).toEqual(['stop-being-ready', 'drain', 'close']);
  expect(entries().map((entry) => entry.message)).toEqual(['listening', 'model ready', 'stopping']);
  expect(signals.eventNames()).toEqual([]);
});

test('what is open to the network is logged once, at the start', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  server.notices = [{ message: 'inference is open to the network', host: '0.0.0.0', advice: 'use a proxy' }];
  const { exitCode, signals, entries } = serving(server);
  signals.emit('SIGTERM');
  expect(await exitCode).toBe(0);
  const warnings = entries().filter(({ level }) => level === 'warn');
  expect(warnings).toMatchObject([
    { message: 'inference is open to the network', host: '0.0.0.0', advice: 'use a proxy' },
  ]);
});

test('requests that take too long are cut off after the drain time, with a warning', async () => {
  const server = new ServerDouble([servedModelStatus()], new Promise(() => {}));
  const waits: number[] = [];
  const delay = async (ms: number): Promise<void> => void waits.push(ms);
  const { exitCode, signals, entries } = serving(server, { delay, options: { shutdown: { drainSecondsMax: 2.5 } } });
  signals.emit('SIGTERM');
  expect(await exitCode).toBe(0);
  expect(waits).toEqual([2500]);
  expect(server.calls).toEqual(['stop-being-ready', 'drain', 'close']);
  expect(entries().at(-1)).toMatchObject({ level: 'warn', drainSecondsMax: 2.5 });
});

test('a drain that ends before the limit cancels its timer', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let isAborted = false;
  const delay: ServeParts['delay'] = (_ms, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        isAborted = true;
        reject(new Error('aborted'));
      });
    });
  const { exitCode, signals } = serving(server, { delay });
  signals.emit('SIGTERM');
  expect(await exitCode).toBe(0);
  expect(isAborted).toBe(true);
});

test('the server goes on serving, not ready, for the notice time', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  const waits: number[] = [];
  const delay: ServeParts['delay'] = async (ms) => {
    if (waits.length === 0) expect(server.calls).toEqual(['stop-being-ready']);
    waits.push(ms);
  };
  const { exitCode, signals } = serving(server, { delay, options: { shutdown: { noticeSeconds: 5 } } });
  signals.emit('SIGTERM');
  await exitCode;
  expect(waits).toEqual([5000, 30_000]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a second signal, %s, ends the process with %d at once', async (second, code) => {
  const server = new ServerDouble([servedModelStatus()], new Promise(() => {}));
  const { signals, exits, time } = serving(server);
  signals.emit('SIGTERM');
  expect(exits).toEqual([]);
  time.ms = repeatedSignalMs;
  signals.emit(second);
  expect(exits).toEqual([code]);
});

test.each(['SIGINT', 'SIGTERM'])('%s that npm passes on after its group got it counts once', async (signal) => {
  const { signals, exits, time } = serving(new ServerDouble([servedModelStatus()], new Promise(() => {})));
  signals.emit(signal);
  time.ms = repeatedSignalMs - 1;
  signals.emit(signal);
  expect(exits).toEqual([]);
  time.ms = repeatedSignalMs;
  signals.emit(signal);
  expect(exits).toHaveLength(1);
});

test('a signal during the start stops the server as soon as it has started', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let started: (server: ServerDouble) => void = () => {};
  const startServer = (): Promise<ServerDouble> =>
    new Promise((resolve) => {
      started = resolve;
    });
  const { exitCode, signals } = serving(server, { startServer });
  signals.emit('SIGINT');
  started(server);
  expect(await exitCode).toBe(0);
  expect(server.calls).toEqual(['stop-being-ready', 'drain', 'close']);
});

test('a start that fails ends with 1 and one line that says what to do', async () => {
  const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 8000 });
  const { exitCode, complaints, signals, told } = serving(new ServerDouble([]), {
    startServer: () => Promise.reject(error),
  });
  expect(await exitCode).toBe(1);
  expect(complaints).toEqual([expect.stringMatching(/^port 8000 on 127\.0\.0\.1 is in use: .*--http-port/)]);
  expect(told).toEqual([]);
  expect(signals.listenerCount('SIGTERM')).toBe(0);
});

test('a configuration problem found during the start is reported as one', async () => {
  const error = new ConfigError([{ source: 'models/mlp/config.pbtxt', line: 3, message: 'x' }]);
  const { exitCode } = serving(new ServerDouble([]), { startServer: () => Promise.reject(error) });
  await expect(exitCode).rejects.toBe(error);
});

test('Triton: a server without any model goes on running', async () => {
  const server = new ServerDouble([]);
  const { exitCode, signals, complaints, entries } = serving(server);
  await Promise.resolve();
  signals.emit('SIGTERM');
  expect(await exitCode).toBe(0);
  expect(server.calls).toEqual(['stop-being-ready', 'drain', 'close']);
  expect(complaints).toEqual([]);
  expect(entries().map(({ message }) => message)).toEqual(['listening', 'stopping']);
});

test('changes of models are logged', async () => {
  const loading = servedModelStatus({ state: 'loading', loadMs: undefined });
  const server = new ServerDouble([loading, { ...loading, name: 'bad' }]);
  const { exitCode, signals, entries } = serving(server, { options: { log: { level: 'debug' } } });
  await Promise.resolve();
  server.become([servedModelStatus(), { ...loading, name: 'bad' }]);
  server.become([servedModelStatus(), servedModelStatus({ name: 'bad', state: 'failed', reason: 'not ONNX' })]);
  signals.emit('SIGTERM');
  await exitCode;
  expect(entries().map(({ level, message, model, reason }) => [level, message, model, reason])).toEqual([
    ['info', 'listening', undefined, undefined],
    ['debug', 'model loading', 'mlp', undefined],
    ['debug', 'model loading', 'bad', undefined],
    ['info', 'model ready', 'mlp', undefined],
    ['error', 'model failed', 'bad', 'not ONNX'],
    ['info', 'stopping', undefined, undefined],
  ]);
});

test('a model that fails stops the server only where the operator wants it', async () => {
  const failed = servedModelStatus({ name: 'bad', state: 'failed', reason: 'not ONNX' });
  const strict = serving(new ServerDouble([servedModelStatus(), failed]), {
    options: { models: { paths: ['/m'], exitOnError: true } },
  });
  expect(await strict.exitCode).toBe(1);
  expect(strict.complaints).toEqual(['model bad failed to load, and models.exitOnError is set: not ONNX']);
  const lenient = serving(new ServerDouble([servedModelStatus(), failed]));
  lenient.signals.emit('SIGTERM');
  expect(await lenient.exitCode).toBe(0);
});

test('on a terminal the screen is shown instead of log lines, unless JSON was asked for', async () => {
  const shown = serving(new ServerDouble([servedModelStatus()]), { isTerminal: true });
  shown.signals.emit('SIGINT');
  await shown.exitCode;
  expect(shown.told.join('')).toMatch(/Millrace 0\.1\.0[\s\S]*✓ mlp:1[\s\S]*Try it\n {2}curl[\s\S]*SIGINT: finishing/);
  const json = serving(new ServerDouble([servedModelStatus()]), {
    isTerminal: true,
    options: { models: { paths: ['/m'] }, log: { format: 'json' } },
  });
  json.signals.emit('SIGINT');
  await json.exitCode;
  expect(json.entries()[0]).toMatchObject({ message: 'listening' });
});

test('SIGHUP applies what can change, also one that comes before the server listens', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let options: Options = { tls: { certificateFile: '/a.pem', keyFile: '/a.key' } };
  const waits: number[] = [];
  const { exitCode, signals, entries } = serving(server, {
    loadConfig: () => configOf(options),
    delay: async (ms) => void waits.push(ms),
  });
  options = { ...options, shutdown: { noticeSeconds: 7 }, server: { httpPort: 9 } };
  signals.emit('SIGHUP');
  await Promise.resolve();
  await Promise.resolve();
  expect(server.calls).toEqual(['replace-certificates']);
  expect(entries().slice(-2)).toMatchObject([
    { level: 'info', message: 'configuration reloaded', applied: ['shutdown.noticeSeconds'], certificates: true },
    { level: 'warn', message: 'changed settings take effect after a restart', fields: ['server.httpPort'] },
  ]);
  options = { ...options, log: { level: 'error' } };
  signals.emit('SIGHUP');
  const lines = entries().length;
  signals.emit('SIGTERM');
  signals.emit('SIGHUP');
  await exitCode;
  expect(waits[0]).toBe(7000);
  expect(entries()).toHaveLength(lines);
});

test('a reload that fails changes nothing and lists every problem', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let problems: readonly ConfigProblem[] = [];
  const { exitCode, signals, entries } = serving(server, {
    loadConfig: () => {
      if (problems.length > 0) throw new ConfigError(problems);
      return configOf({ log: { level: 'info' } });
    },
  });
  await Promise.resolve();
  problems = [
    { source: 'millrace.yaml', line: 2, field: 'log.level', message: 'must be one of …' },
    { source: 'millrace.yaml', line: 3, message: 'is not a field.' },
  ];
  signals.emit('SIGHUP');
  expect(entries().at(-1)).toMatchObject({
    level: 'error',
    message: 'reload failed; the previous configuration and certificates stay in use',
    problems: ['millrace.yaml:2: log.level: must be one of …', 'millrace.yaml:3: is not a field.'],
  });
  signals.emit('SIGTERM');
  expect(await exitCode).toBe(0);
});

test('SIGHUP stops a server whose terminal is gone', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let hasTerminal = true;
  const { exitCode, signals, entries } = serving(server, { hasTerminal: () => hasTerminal });
  await Promise.resolve();
  signals.emit('SIGHUP');
  await Promise.resolve();
  expect(server.calls).toEqual([]);
  hasTerminal = false;
  signals.emit('SIGHUP');
  expect(await exitCode).toBe(129);
  expect(entries().at(-1)).toMatchObject({ message: 'stopping', signal: 'SIGHUP' });
  expect(server.calls).toEqual(['stop-being-ready', 'drain', 'close']);
});

test.each([
  ['warn', 1],
  ['error', 1],
  ['silent', 0],
] as const)('at level %s the addresses are logged %d time, and nothing else', async (level, count) => {
  const { exitCode, signals, entries } = serving(new ServerDouble([servedModelStatus()]), {
    options: { log: { level } },
  });
  signals.emit('SIGTERM');
  await exitCode;
  expect(entries()).toHaveLength(count);
  if (count === 1) {
    expect(entries()[0]).toMatchObject({ message: 'listening', host: '127.0.0.1', httpUrl: 'http://127.0.0.1:8000' });
  }
});

test('a server whose npx is gone stops as after SIGTERM', async () => {
  const server = new ServerDouble([servedModelStatus()]);
  let gone = (): void => {};
  const { exitCode, entries } = serving(server, {
    watchParent: (onGone) => {
      gone = onGone;
      return () => {};
    },
  });
  gone();
  expect(await exitCode).toBe(0);
  expect(entries().at(-1)).toMatchObject({ message: 'stopping', signal: 'SIGTERM' });
});
