/** What each kind of drill breaks, and how. */
import { openWriteHold, StoreError } from '@millrace/store';
import { ChaosProxy } from '../../chaos/chaos-proxy.ts';
import { serverUrl } from '../../server-url.ts';
import { CommandFailure } from '../command-failure.ts';
import type { CommandEnvironment } from '../run-command.ts';
import type { DrillPlan } from './drill-plan.ts';
import type { DrillKind } from './drill-spec.ts';
import type { DrillTarget, ServerLogRecord } from './drill-target.ts';
import type { DrillTranscript } from './drill-transcript.ts';

export interface DrillFault {
  /** Where the client of this drill connects. */
  readonly url: string;
  /** Breaks it. */
  strike(): void;
  /** Resolves when what was broken is whole again; before the strike, at once. Rejects if it could not be broken. */
  settled(): Promise<void>;
  /** Lines of the log that belong into the transcript. */
  readonly logMessages: readonly string[];
  isReplaced(): boolean;
  close(): Promise<void>;
}

export interface DrillFaultParts {
  readonly target: DrillTarget;
  readonly plan: DrillPlan;
  readonly transcript: DrillTranscript;
  readonly environment: CommandEnvironment;
}

const noFault = {
  settled: () => Promise.resolve(),
  logMessages: [],
  isReplaced: () => false,
  close: () => Promise.resolve(),
};

export function prepareFault(kind: DrillKind, parts: DrillFaultParts): Promise<DrillFault> {
  switch (kind) {
    case 'link':
      return prepareLink(parts);
    case 'worker':
      return prepareWorker(parts);
    case 'router':
      return Promise.resolve(prepareRouter(parts));
    case 'store-pause':
      return prepareStorePause(parts);
  }
}

async function prepareLink({ target, transcript }: DrillFaultParts): Promise<DrillFault> {
  const { hostname, port } = new URL(target.url);
  const proxy = await ChaosProxy.open({
    target: { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? 80 : port) },
    random: Math.random,
  });
  const { host, port: listening } = proxy.address;
  return {
    ...noFault,
    url: serverUrl(host, listening),
    strike: () => {
      transcript.add('drill', 'reset the connection of the client');
      proxy.apply({ kind: 'reset' });
    },
    close: () => proxy.close(),
  };
}

async function prepareWorker({ target, plan, transcript, environment }: DrillFaultParts): Promise<DrillFault> {
  const model = plan.model.replace(/[:@].*$/, '');
  const pid = await target.workerPid(model);
  let replaced: Promise<void> = Promise.resolve();
  const find = async (): Promise<void> => {
    const giveUpAt = environment.now() + 60_000;
    for (;;) {
      const found = await target.workerPid(model).catch(() => pid);
      if (found !== pid) {
        transcript.add('drill', `the model is run by pid=${found} now`);
        return;
      }
      if (environment.now() > giveUpAt) throw new CommandFailure(`no other worker runs ${model} after 60 s`);
      await environment.delay(50);
    }
  };
  return {
    ...noFault,
    url: target.url,
    logMessages: ['worker exited; restarting', 'worker ready'],
    strike: () => {
      kill(pid, '--worker-pid');
      transcript.add('drill', `killed worker pid=${pid} with SIGKILL`);
      replaced = find();
    },
    settled: () => replaced,
  };
}

function prepareRouter({ target, transcript }: DrillFaultParts): DrillFault {
  const pid = target.routerPid();
  if (pid === undefined) throw new CommandFailure('the process of the router is not known; give it with --router-pid');
  return {
    ...noFault,
    url: target.url,
    logMessages: ['router restarted', 'streams taken over from the journal'],
    strike: () => {
      kill(pid, '--router-pid');
      transcript.add('drill', `killed router pid=${pid} with SIGKILL`);
    },
    isReplaced: () => target.routerPid() !== pid,
  };
}

async function prepareStorePause({ target, plan, transcript, environment }: DrillFaultParts): Promise<DrillFault> {
  const lock = await writeHoldOn(target.journalPath());
  let pause: Promise<void> = Promise.resolve();
  const end = async (): Promise<void> => {
    await environment.delay(plan.pauseMs);
    await lock.release();
    transcript.add('drill', 'the journal can be written again');
  };
  return {
    ...noFault,
    url: target.url,
    strike: () => {
      lock.hold();
      transcript.add('drill', `paused writes of the journal for ${plan.pauseMs / 1000} s, by holding its write lock`);
      pause = end();
    },
    settled: () => pause,
    close: () => lock.close(),
  };
}

async function writeHoldOn(folder: string): ReturnType<typeof openWriteHold> {
  try {
    return await openWriteHold(folder);
  } catch (error) {
    throw error instanceof StoreError ? new CommandFailure(error.message) : error;
  }
}

function kill(pid: number, flag: string): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'EPERM' ? 'belongs to another user' : 'does not exist';
    throw new CommandFailure(`process ${pid} ${why}; check ${flag}`);
  }
}

/** `worker ready pid=12 group=story:1`. */
export function logLine(record: ServerLogRecord): string {
  const shown = ['pid', 'group', 'reason', 'cause', 'signal', 'exitCode', 'streams'].flatMap((field) => {
    const value = record[field];
    if (value === undefined || value === null) return [];
    return [`${field}=${typeof value === 'string' && /\s/.test(value) ? JSON.stringify(value) : value}`];
  });
  return [record.message, ...shown].join(' ');
}
