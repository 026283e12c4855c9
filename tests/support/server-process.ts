/** A real server in a process of its own, on free ports, for tests that kill things. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.ts';
import { metricFrom } from './metrics.ts';
import { repositoryRoot } from './repository-root.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const built = join(repositoryRoot, 'packages/millrace/dist/main.js');

export interface LogRecord {
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface Launch {
  /** A command that runs the server's command: `strace -D`. */
  readonly wrapper?: readonly string[];
  /** Variables that override those of this process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Whether `keptBytes` may be called. The server is then one process, without a supervisor. */
  readonly measuresMemory?: boolean;
}

/**
 * Reports its memory to its parent over the IPC channel on request; the channel does not keep the server alive. Garbage is
 * collected and free memory returned to the system before, so that what is still there is what the server holds.
 */
const memoryReporter = [
  '--expose-gc',
  '--import',
  `data:text/javascript,${encodeURIComponent(`
    import { createRequire } from 'node:module';
    const koffi = createRequire(${JSON.stringify(join(repositoryRoot, 'packages/shared-memory/package.json'))})('koffi');
    const returnFree = koffi.load(null).func('int malloc_trim(size_t)');
    process.on('message', () => {
      gc();
      setTimeout(() => {
        gc();
        returnFree(0);
        const { heapUsed, external } = process.memoryUsage();
        process.send(heapUsed + external);
      }, 50);
    });
    process.channel.unref();
  `)}`,
];

export class ServerProcess {
  readonly url: string;
  readonly grpcUrl: string;
  readonly metricsUrl: string;
  readonly child: ChildProcess;
  readonly records: LogRecord[];
  /** The exit code of the server, once all its processes that write to its output have ended: supervisor and router. */
  readonly exit: Promise<number | null>;

  private constructor(child: ChildProcess, records: LogRecord[], listening: LogRecord) {
    this.child = child;
    this.records = records;
    this.url = listening.httpUrl as string;
    this.grpcUrl = listening.grpcUrl as string;
    this.metricsUrl = listening.metricsUrl as string;
    this.exit = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  }

  /** Resolves when it listens and is ready. */
  static async start(serveArguments: readonly string[], launch: Launch = {}): Promise<ServerProcess> {
    const server = await ServerProcess.launch(serveArguments, launch);
    while ((await fetch(`${server.url}/v2/health/ready`)).status !== 200) await nextTurn();
    return server;
  }

  /** Resolves when its models are ready, for instance after a restart of the router, which loads those of open streams first. */
  async whenReady(): Promise<void> {
    const isReady = async (): Promise<boolean> => (await fetch(`${this.url}/v2/health/ready`)).status === 200;
    await eventually('it is ready', () => isReady().catch(() => false), 60_000);
  }

  /** Resolves when it listens, whether or not it will be ready. */
  static async launch(serveArguments: readonly string[], launch: Launch = {}): Promise<ServerProcess> {
    if (!existsSync(built)) throw new Error('the server is not built; run npm run build first');
    const [command = process.execPath, ...args] = [...(launch.wrapper ?? []), process.execPath];
    const child = spawn(
      command,
      [
        ...args,
        ...(launch.measuresMemory === true ? memoryReporter : []),
        millrace,
        'serve',
        ...serveArguments,
        ...(launch.measuresMemory === true ? ['--no-supervise'] : []),
        '--http-port',
        '0',
        '--grpc-port',
        '0',
        '--metrics-port',
        '0',
        '--log-format',
        'json',
        '--log-level',
        'debug',
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit', ...(launch.measuresMemory === true ? (['ipc'] as const) : [])],
        env: { ...process.env, ...launch.environment },
      },
    );
    const records: LogRecord[] = [];
    const listening = await new Promise<LogRecord>((resolve, reject) => {
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
        const record = JSON.parse(line) as LogRecord;
        records.push(record);
        if (record.message === 'listening') resolve(record);
      });
      child.once('exit', (code) => reject(new Error(`the server ended with ${code} before it listened`)));
    });
    return new ServerProcess(child, records, listening);
  }

  /** The process that serves, and not the supervisor that starts it again when it dies. */
  get routerPid(): number {
    return this.records.findLast(({ message }) => message === 'listening')?.pid as number;
  }

  /** Process ids of the group's workers that have been ready, in the order in which they were. */
  workerPids(group: string): readonly number[] {
    return this.records
      .filter((record) => record.message === 'worker ready' && record.group === group)
      .map(({ pid }) => pid as number);
  }

  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return metricFrom(await (await fetch(this.metricsUrl)).text(), name, labels);
  }

  /** Of the router. */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.routerPid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** Memory of the router, heap and external, after two full garbage collections. Needs `measuresMemory`. */
  keptBytes(): Promise<number> {
    return new Promise((resolve) => {
      this.child.once('message', (bytes) => resolve(bytes as number));
      this.child.send('measure');
    });
  }

  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.exit;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
