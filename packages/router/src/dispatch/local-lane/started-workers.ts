import { spawn } from 'node:child_process';
import type { WorkerSource } from '../worker-source.ts';
import type { WorkerLine } from './worker-output.ts';
import { WorkerProcess } from './worker-process.ts';

export interface StartedWorkersOptions {
  /** The program of the worker: what `@millrace/worker/main` resolves to, or any that speaks docs/reference/dispatch.md. */
  readonly workerPath: string;
  /** The interpreter that runs the program, which is its only argument; default: the Node of this process. */
  readonly execPath?: string;
  /** Starts the processes; default: Node's own. */
  readonly spawn?: typeof spawn;
  /** The worker's environment, all of it: nothing is inherited. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Called with what a worker prints, within the limits of worker-output.ts; if left out, stdout is ignored. */
  readonly onWorkerLine?: ((pid: number, line: WorkerLine) => void) | undefined;
}

/** Worker processes that this process starts and ends. */
export function startedWorkers(options: StartedWorkersOptions): WorkerSource {
  const program = {
    workerPath: options.workerPath,
    execPath: options.execPath ?? process.execPath,
    spawn: options.spawn ?? spawn,
    environment: options.environment ?? {},
    onLine: options.onWorkerLine,
  };
  return { life: 'started', open: (listener) => new WorkerProcess(program, listener) };
}
