/** The process of `millrace serve`: a supervisor, and nothing else. Its memory is that of Node.js; keep its imports few. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createHeldFolder, removeHeldFolder } from '../private-folder/held-folder.ts';
import type { ToSupervisor } from './messages.ts';
import { routerEnvironment, routerFlags } from './router-environment.ts';
import { type ListeningHandle, type RouterListener, type RouterProcess, Supervisor } from './supervisor.ts';

export interface SupervisorOptions {
  /** The program of a supervised router. */
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls back when whoever passes signals on is gone. */
  readonly watchParent: (onGone: () => void) => void;
  readonly exit: (code: number) => void;
}

/** Standard streams and the channel come before it. */
const firstDescriptor = 4;

export function runSupervisor(options: SupervisorOptions): void {
  const folder = createHeldFolder();
  const supervisor = new Supervisor({
    startRouter: (descriptors, listener) => startRouter(options, descriptors, listener),
    firstDescriptor,
    folder,
    after: (ms, call) => {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    now: () => performance.now(),
    complain,
    onEnd: (exitCode) => void removeHeldFolder(folder).finally(() => options.exit(exitCode)),
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => supervisor.pass(signal));
  options.watchParent(() => supervisor.pass('SIGTERM'));
  supervisor.start();
}

function complain(text: string): void {
  try {
    writeSync(2, `millrace: ${text}\n`);
  } catch {
    // The reader of standard error is gone.
  }
}

/** It has this process's standard streams, so what it prints is seen as before, and its group, so that a signal to the group reaches it. */
function startRouter(
  { program, args, environment }: SupervisorOptions,
  descriptors: readonly number[],
  listener: RouterListener,
): RouterProcess {
  // What the operator has given to Node comes last, so it has the last word.
  const flags = [...routerFlags(environment, availableParallelism()), ...process.execArgv];
  const child: ChildProcess = spawn(process.execPath, [...flags, program, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...descriptors],
    env: routerEnvironment(environment),
  });
  child.on('message', (message, handle) => {
    listener.onMessage(message as ToSupervisor, handle as unknown as ListeningHandle | undefined);
  });
  // What the router said last may be read after its exit was noticed.
  void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(
    ([[exitCode, signal]]) => listener.onEnd({ exitCode, signal }),
    (error: Error) => {
      complain(`the router cannot be started: ${error.message}`);
      listener.onEnd({ exitCode: 1, signal: null });
    },
  );
  // A message that comes too late for a router that has just ended.
  child.on('error', () => {});
  return {
    send: (message) => void child.send(message),
    kill: (signal) => void child.kill(signal),
  };
}
