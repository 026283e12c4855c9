/** The command in a process of its own, with a server that listens but serves nothing: for tests of signals. */
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from '../cli/run-command.ts';
import type { StartServer } from '../running-server.ts';
import { serverUrl } from '../server-url.ts';
import { ServerDouble, servedModelStatus } from './server-double.ts';

/** `hangs` as the first argument: a request that never ends. */
const [mode, ...args] = process.argv.slice(2);

const startServer: StartServer = async (config) => {
  const listener = createServer();
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(config.server.httpPort, config.server.host, resolve);
  });
  const address = listener.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const double = new ServerDouble([servedModelStatus()], mode === 'hangs' ? new Promise(() => {}) : Promise.resolve());
  return {
    ...double,
    httpUrl: serverUrl(config.server.host, port),
    models: () => double.models(),
    onModelChange: (listen) => double.onModelChange(listen),
    replaceCertificates: () => double.replaceCertificates(),
    stopBeingReady: () => double.stopBeingReady(),
    drain: () => double.drain(),
    close: () => new Promise((resolve) => listener.close(() => resolve())),
  };
};

let time = 0;

process.exitCode = await runCommand({
  args,
  environment: {},
  cwd: process.cwd(),
  version: '0.0.0',
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  hasTerminal: () => false,
  watchParent: () => () => {},
  startServer,
  loadModels: () => Promise.reject(new Error('not here')),
  fetch,
  delay: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
  // Every signal counts, however soon it follows another.
  now: () => {
    time += 1_000_000;
    return time;
  },
  exitNow: (code) => process.exit(code),
});
