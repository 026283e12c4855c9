/** The command: the one place that reads the process's arguments, environment and signals. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './cli/run-command.ts';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

const exitCode = await runCommand({
  words: process.argv.slice(2),
  environment: process.env,
  cwd: process.cwd(),
  version: manifest.version,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: process,
  startServer: () => Promise.reject(new Error('no server is part of this build')),
  fetch,
  delay: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
  now: () => performance.now(),
  exitNow: (code) => process.exit(code),
});

// Whatever still lingers must not keep a stopped server alive; what was written goes out first.
process.stdout.write('', () => process.exit(exitCode));
