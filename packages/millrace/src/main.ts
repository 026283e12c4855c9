/** The command: the one place that reads the process's arguments, environment and signals. */
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './cli/run-command.ts';
import { mustAllowStart, readOpenFiles } from './open-file-limit.ts';
import { version } from './version.ts';

const exitCode = await runCommand({
  words: process.argv.slice(2),
  environment: process.env,
  cwd: process.cwd(),
  version,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  // Loaded when it is needed: the other commands start quicker without the server.
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

// Whatever still lingers must not keep a stopped server alive; what was written goes out first.
process.stdout.write('', () => process.exit(exitCode));
