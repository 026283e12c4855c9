import type { ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TextTail } from './text-tail.ts';

/** How much of a worker's stderr is kept, and how many lines of it the reason of an exit shows. */
const standardErrorCharactersMax = 4096;
const standardErrorLinesMax = 8;
/** How long a worker may take to exit after its socket closed, and its pipes to be drained after its exit. */
const endMsMax = 2000;

const socketPosition = 3;

/**
 * For the C library's allocator, where it is GNU's. An engine allocates and frees tensors in every run; by default those
 * of more than 128 KiB come from the system and are returned to it each time, and every page of them is cleared and mapped
 * again: 150 faults for 600 KB. So the allocator is told to keep them, up to the largest size that it allows.
 */
const allocatorSettings = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(128 * 1024 * 1024),
};

export interface WorkerProcessOptions {
  readonly workerPath: string;
  readonly execPath: string;
  readonly spawn: typeof spawn;
  readonly environment: Readonly<Record<string, string>>;
  /** Inherited by the worker as descriptor 4. */
  readonly memoryDescriptor: number | undefined;
  readonly onData: (chunk: Uint8Array) => void;
  /** Called once, when the process has exited and everything it sent has been read, or when it could not be started. */
  readonly onEnd: (reason: string, end: ProcessEnd) => void;
}

/** A process that a signal ended which does not come from its own code was killed; any other end that nobody asked for is a crash. */
export type ProcessEnd = 'crashed' | 'killed';

const signalsFromOutside: ReadonlySet<NodeJS.Signals | null> = new Set([
  'SIGKILL',
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
]);

/** A worker process: starts it, writes to it, kills it, and reports why it exited. */
export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #child: ChildProcess | undefined;
  readonly #socket: Socket | undefined;
  readonly #standardError = new TextTail(standardErrorCharactersMax);
  #timer: NodeJS.Timeout | undefined;
  #hasEnded: boolean = false;

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    try {
      this.#child = options.spawn(options.execPath, [options.workerPath], {
        stdio: ['ignore', 'ignore', 'pipe', 'pipe', options.memoryDescriptor ?? 'ignore'],
        env: { ...allocatorSettings, ...options.environment },
      });
    } catch (error) {
      const reason = startFailure(options, error);
      queueMicrotask(() => this.#end(reason, 'crashed'));
      return;
    }
    const child = this.#child;
    child.on('error', (error) => this.#end(startFailure(options, error), 'crashed'));
    child.on('exit', () => this.#limit(() => this.#destroyPipes()));
    child.on('close', (code, signal) =>
      this.#end(this.#exitReason(code, signal), signalsFromOutside.has(signal) ? 'killed' : 'crashed'),
    );
    const standardError = child.stderr as Readable | null | undefined;
    standardError?.setEncoding('utf8').on('data', (text: string) => this.#standardError.push(text));
    this.#socket = child.stdio?.[socketPosition] as Socket | undefined;
    this.#socket?.on('data', options.onData);
    // The close event follows and is handled.
    this.#socket?.on('error', () => {});
    this.#socket?.on('close', () => this.#limit(() => this.kill()));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** True when the kernel took all bytes at once, so that the memory may be reused. */
  write(bytes: Uint8Array): boolean {
    if (this.#socket === undefined || this.#socket.destroyed) return false;
    this.#socket.write(bytes);
    return this.#socket.writableLength === 0;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** A worker whose own children hold its pipes open must not delay the report of its exit. */
  #destroyPipes(): void {
    this.#socket?.destroy();
    this.#child?.stderr?.destroy();
  }

  #limit(action: () => void): void {
    if (this.#hasEnded) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(action, endMsMax);
  }

  #exitReason(code: number | null, signal: NodeJS.Signals | null): string {
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
    const lines = this.#standardError.lastLines(standardErrorLinesMax);
    return `worker process ${this.pid} ${how}${lines === '' ? '' : `; stderr: ${lines}`}`;
  }

  #end(reason: string, end: ProcessEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#options.onEnd(reason, end);
  }
}

function startFailure({ execPath, workerPath }: WorkerProcessOptions, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `the worker process (${execPath} ${workerPath}) could not be started: ${message}`;
}
