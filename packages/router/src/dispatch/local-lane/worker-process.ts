import type { ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { LeanSocket } from '@millrace/http';
import type { WorkerEnd } from '@millrace/protocol';
import type { ChannelListener, WorkerChannel } from '../worker-source.ts';
import { TextTail } from './text-tail.ts';
import { type WorkerLine, WorkerOutput } from './worker-output.ts';

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
export const workerAllocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(128 * 1024 * 1024),
};

export interface WorkerProgram {
  readonly workerPath: string;
  readonly execPath: string;
  readonly spawn: typeof spawn;
  readonly environment: Readonly<Record<string, string>>;
  /** Called with what it prints; if left out, only the last lines of its stderr are kept. */
  readonly onLine: ((pid: number, line: WorkerLine) => void) | undefined;
}

/** A process that a signal ended which does not come from its own code was killed; any other end is a crash. */
type ProcessEnd = Extract<WorkerEnd, 'crashed' | 'killed'>;

const signalsFromOutside: ReadonlySet<NodeJS.Signals | null> = new Set([
  'SIGKILL',
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
]);

/** A worker process: starts it, writes to it, kills it, and reports why it exited. It inherits the memory as descriptor 4. */
export class WorkerProcess implements WorkerChannel {
  readonly #listener: ChannelListener;
  readonly #child: ChildProcess | undefined;
  readonly #socket: Socket | undefined;
  readonly #link: LeanSocket | undefined;
  readonly #standardError = new TextTail(standardErrorCharactersMax);
  readonly #output: WorkerOutput;
  #timer: NodeJS.Timeout | undefined;
  #hasEnded: boolean = false;

  constructor(program: WorkerProgram, listener: ChannelListener) {
    const { onLine } = program;
    this.#listener = listener;
    this.#output = new WorkerOutput(
      (line) => {
        if (this.pid !== undefined) onLine?.(this.pid, line);
      },
      () => performance.now(),
    );
    try {
      this.#child = program.spawn(program.execPath, [program.workerPath], {
        stdio: [
          'ignore',
          onLine === undefined ? 'ignore' : 'pipe',
          'pipe',
          'pipe',
          listener.memoryDescriptor ?? 'ignore',
        ],
        env: { ...workerAllocatorSettings, ...program.environment },
      });
    } catch (error) {
      const reason = startFailure(program, error);
      queueMicrotask(() => this.#end(reason, 'crashed'));
      return;
    }
    const child = this.#child;
    child.on('error', (error) => this.#end(startFailure(program, error), 'crashed'));
    child.on('exit', () => {
      this.#output.end();
      this.#limit(() => this.#destroyPipes());
    });
    child.on('close', (code, signal) =>
      this.#end(this.#exitReason(code, signal), signalsFromOutside.has(signal) ? 'killed' : 'crashed'),
    );
    const { stdout, stderr } = child as { stdout?: Readable | null; stderr?: Readable | null };
    if (stdout) this.#output.add(stdout, 'stdout');
    if (stderr) this.#output.add(stderr, 'stderr', (text) => this.#standardError.push(text));
    this.#socket = child.stdio?.[socketPosition] as Socket | undefined;
    if (this.#socket !== undefined) this.#link = new LeanSocket(this.#socket, (chunk) => listener.onData(chunk));
    // The close event follows and is handled.
    this.#socket?.on('error', () => {});
    this.#socket?.on('close', () => this.#limit(() => this.kill()));
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** True when the kernel took all bytes at once, so that the memory may be reused. */
  write(bytes: Uint8Array): boolean {
    return this.#link?.write(bytes) === true;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** A worker whose own children hold its pipes open must not delay the report of its exit. */
  #destroyPipes(): void {
    this.#socket?.destroy();
    this.#output.destroy();
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
    this.#listener.onEnd(reason, end);
  }
}

function startFailure({ execPath, workerPath }: WorkerProgram, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `the worker process (${execPath} ${workerPath}) could not be started: ${message}`;
}
