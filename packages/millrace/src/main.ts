/** The command: the only file that reads the process's arguments, environment and signals. */
import { setTimeout as delay } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { exitCodes } from './cli/exit-codes.ts';
import { runCommand } from './cli/run-command.ts';
import { watchParent } from './cli/watch-parent.ts';
import { mustAllowStart, readOpenFiles } from './open-file-limit.ts';
import { version } from './version.ts';

// The reader of the output may close the pipe (`millrace serve | head`), and a terminal may hang up while the server
// drains: neither must end the server.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
}

/** Node.js aborts at an ordinary exit when its terminal is gone; the signal itself ends the process without that. */
function exit(code: number): void {
  if (code !== exitCodes.hungUp) process.exit(code);
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

const exitCode = await runCommand({
  args: process.argv.slice(2),
  environment: process.env,
  cwd: process.cwd(),
  version,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  watchParent: (onGone) => watchParent(process, onGone),
  // A terminal that hung up is no terminal any more.
  hasTerminal: () => [0, 1, 2].some((descriptor) => isatty(descriptor)),
  // Imported on demand: the other commands start faster without the server.
  startServer: async (config, logger) => {
    mustAllowStart(readOpenFiles());
    const { startServer } = await import('./compose.ts');
    const { refuseNewPrivileges } = await import('@millrace/shared-memory');
    // Here, before any process is started: all of them inherit it. A program that embeds the server decides for itself.
    refuseNewPrivileges();
    return startServer(config, logger);
  },
  fetch,
  delay: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
  now: () => performance.now(),
  exitNow: exit,
});

// Remaining handles must not keep a stopped server alive; pending output is written first.
process.stdout.write('', () => exit(exitCode));
