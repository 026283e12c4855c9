/** Runs the command in this process. */
import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { ConfigError } from '@millrace/protocol';
import { serveCommand } from './cli/command-table.ts';
import { loadConfig } from './cli/load-config.ts';
import { parseArguments } from './cli/parse-arguments.ts';
import { type CommandEnvironment, runCommand } from './cli/run-command.ts';
import { exitProcess } from './exit-process.ts';
import { mustAllowStart, readOpenFiles } from './open-file-limit.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { version } from './version.ts';

export interface ProcessParts extends Pick<CommandEnvironment, 'args' | 'environment' | 'cwd' | 'watchParent'> {
  /** Left out, this process has no supervisor. */
  readonly supervision?: Supervision;
}

/** Ends the process when the command has ended. */
export async function runInProcess({ supervision, ...start }: ProcessParts): Promise<void> {
  // The reader of the output may close the pipe (`millrace serve | head`), and a terminal may hang up while the server
  // drains: neither must end the server.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
  const exit = (code: number): void => {
    if (supervision === undefined) exitProcess(code);
    else supervision.announceEnd(() => exitProcess(code));
  };
  const exitCode = await runCommand({
    ...start,
    version,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    signals: process,
    restart: supervision?.restart,
    // A terminal that hung up is no terminal any more.
    hasTerminal: () => [0, 1, 2].some((descriptor) => isatty(descriptor)),
    // Imported on demand: the other commands start faster without the server.
    startServer: async (config, logger) => {
      mustAllowStart(readOpenFiles());
      const { startServer } = await import('./compose.ts');
      const { confineChild, refuseNewPrivileges } = await import('@millrace/shared-memory');
      // Here, before any process is started: all of them inherit it. A program that embeds the server decides for itself.
      if (supervision === undefined) refuseNewPrivileges();
      else confineChild();
      const server = await startServer(config, logger, supervision);
      const { watchIdleMemory } = await import('./watch-idle-memory.ts');
      watchIdleMemory();
      return server;
    },
    fetch,
    delay: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
    now: () => performance.now(),
    exitNow: exit,
  });
  // Remaining handles must not keep a stopped server alive; pending output is written first.
  process.stdout.write('', () => exit(exitCode));
}

/** What the configuration of `serve` says; the router reports one that cannot be used. */
export function isSupervisedByConfig({ args, environment, cwd }: Omit<ProcessParts, 'watchParent'>): boolean {
  try {
    return loadConfig(parseArguments(serveCommand, args.slice(1)), environment, cwd).server.supervise;
  } catch (error) {
    if (error instanceof ConfigError) return true;
    throw error;
  }
}
