/** The program of a worker that runs on its own: routers attach to the socket that it listens on. */
import { hostname } from 'node:os';
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { refuseNewPrivileges } from '@millrace/shared-memory';
import { lazyEngine } from '../lazy-engine.ts';
import { WorkerServer } from './worker-server.ts';

const usage = `Usage: millrace-worker --socket PATH [options]

Runs models for every router that attaches to the socket.

  --socket PATH     The Unix socket to listen on; its folder is made if there is none, and must be private (mode 700).
  --id NAME         A name that stays the same when the worker is started again; default: host name and socket name.
  --capacity N      The most batches held at once, divided evenly among the links; default: 32.
  --links-max N     The most links; a router has one for each worker group; default: 16.
  --cache FOLDER    Where model files are copied to; default: the folder "models" beside the socket.
`;

const exitCodeDefect = 1;
const exitCodeUsage = 2;
const unsentBytesMax = 256 * 1024 * 1024;

function print(text: string): void {
  process.stderr.write(`${text}\n`);
}

function refuse(problem: string): never {
  print(`millrace-worker: ${problem}\n\n${usage}`);
  process.exit(exitCodeUsage);
}

interface Arguments {
  readonly socket: string;
  readonly id: string | undefined;
  readonly capacity: number;
  readonly linksMax: number;
  readonly cache: string | undefined;
}

function readArguments(): Arguments {
  try {
    const text = { type: 'string' } as const;
    const { values } = parseArgs({
      options: { socket: text, id: text, capacity: text, 'links-max': text, cache: text, help: { type: 'boolean' } },
    });
    if (values.help === true) {
      process.stdout.write(usage);
      process.exit(0);
    }
    if (values.socket === undefined) return refuse('--socket is missing');
    const linksMax = countFrom('links-max', values['links-max'] ?? '16');
    const capacity = countFrom('capacity', values.capacity ?? '32');
    if (capacity < linksMax) refuse(`--capacity is ${capacity}; it must be at least --links-max, ${linksMax}`);
    return { socket: resolve(values.socket), id: values.id, capacity, linksMax, cache: values.cache };
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function countFrom(flag: string, value: string): number {
  const count = Number(value);
  return Number.isInteger(count) && count >= 1 && count <= 65_536
    ? count
    : refuse(`--${flag} is "${value}"; it must be a whole number from 1 to 65536`);
}

const { socket, id, capacity, linksMax, cache } = readArguments();
process.title = 'millrace-worker';
refuseNewPrivileges();
// An unhandled rejection of user code must not end other runs.
process.on('unhandledRejection', (error) => print(`unhandled promise rejection: ${String(error)}`));

try {
  const worker = await WorkerServer.open({
    engines: [
      lazyEngine('onnxruntime', async () => (await import('../onnxruntime/onnxruntime-engine.ts')).onnxruntimeEngine),
      lazyEngine('pipeline', async () => (await import('../pipeline/pipeline-engine.ts')).pipelineEngine),
      lazyEngine('generator', async () => (await import('../generation/generator-engine.ts')).generatorEngine),
    ],
    socketPath: socket,
    id: id ?? `${hostname()}:${basename(socket)}`,
    capacity,
    linksMax,
    unsentBytesMax,
    ...(cache === undefined ? {} : { cacheFolder: resolve(cache) }),
    onEvent: print,
  });
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) process.exit(exitCodeDefect);
    isStopping = true;
    void worker.stop().then(() => process.exit(0));
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  print(`listening on ${socket}`);
} catch (error) {
  print(`millrace-worker: ${(error as Error).message}`);
  process.exit(exitCodeDefect);
}
