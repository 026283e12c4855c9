/** The command: the only file that reads the process's arguments, environment and signals. */
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './cli/run-command.ts';
import { mustAllowStart, readOpenFiles } from './open-file-limit.ts';
import { version } from './version.ts';

// The reader of the output may close the pipe (`millrace serve | head`): that must not end the server.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
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
  exitNow: (code) => process.exit(code),
});

// Remaining handles must not keep a stopped server alive; pending output is written first.
process.stdout.write('', () => process.exit(exitCode));
