/** The server that a drill breaks, and how it gets at its parts. */
import type { JsonObject } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { ManagementClient } from '../models/management-client.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { isObject } from '../server-call.ts';
import type { RunningTarget } from './drill-plan.ts';

/** A line of the server's log. */
export interface ServerLogRecord extends JsonObject {
  readonly message: string;
}

export interface DrillTarget {
  /** Answers REST and gRPC. */
  readonly url: string;
  /** Undefined: nobody knows it. */
  routerPid(): number | undefined;
  /** The process that runs the model now; throws a `CommandFailure` if there is none. */
  workerPid(model: string): Promise<number>;
  journalPath(): string;
  /** Called with the log of the server from now on, where it can be read; returns a function that stops. */
  onLog(listener: (record: ServerLogRecord) => void): () => void;
  close(): Promise<void>;
}

export function runningTarget(running: RunningTarget, parts: CommandEnvironment): DrillTarget {
  const { url, routerPid, workerPid, journalPath = '' } = running;
  return {
    url,
    routerPid: () => routerPid,
    workerPid: async (model) => workerPid ?? (await askWorkerPid(url, model, parts)),
    journalPath: () => journalPath,
    onLog: () => () => {},
    close: () => Promise.resolve(),
  };
}

const answerMsMax = 10_000;

/** By the management API. */
export async function askWorkerPid(url: string, model: string, { fetch }: CommandEnvironment): Promise<number> {
  const client = new ManagementClient({ url, fetch, timeoutMs: answerMsMax });
  const { instances } = await client.call({ method: 'GET', path: ['instances'] });
  const found = (Array.isArray(instances) ? instances : []).find((one) => isObject(one) && one.model === model);
  const pid = isObject(found) ? found.pid : undefined;
  if (typeof pid === 'number') return pid;
  throw new CommandFailure(`no worker process runs ${model} now; millrace models instances shows them all`);
}
