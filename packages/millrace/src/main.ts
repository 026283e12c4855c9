/** The command: the one place that reads the process's arguments, environment and signals. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './cli/run-command.ts';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

process.exitCode = await runCommand({
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
  // Not a reason to stay alive: a drain that ends early ends the process.
  delay: (ms) => delay(ms, undefined, { ref: false }),
  exitNow: (code) => process.exit(code),
});
