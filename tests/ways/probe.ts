/**
 * Loaded by `--import` into a server, and by it into its child processes: on SIGUSR2, and when a process ends, it writes which
 * functions of the built files were called since the last time.
 */
import child_process from 'node:child_process';
import fs, { renameSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Names the folder for what is written; without it this module does nothing. Millrace refuses variables that begin with its own name. */
export const folderVariable = 'WAYS_FOLDER';

const folder = process.env[folderVariable];
if (folder !== undefined) {
  writeCallsTo(folder);
  hideBundle();
  probeChildren(folder);
}

/** As `<pid>-<count>.json`, beginning with 0 when the process starts. */
function writeCallsTo(target: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let count = 0;
  const write = (): void => {
    // A session with the thread's own inspector answers before `post` returns. Taking the coverage sets its counts to zero.
    session.post('Profiler.takePreciseCoverage', (_, { result }) => {
      const path = join(target, `${process.pid}-${count}.json`);
      writeFileSync(`${path}.part`, JSON.stringify(callsFrom(result)));
      renameSync(`${path}.part`, path);
      count += 1;
    });
  };
  write();
  process.on('SIGUSR2', write);
  process.on('exit', write);
}

function callsFrom(scripts: readonly Profiler.ScriptCoverage[]): Readonly<Record<string, readonly string[]>> {
  const calls: Record<string, readonly string[]> = {};
  for (const { url, functions } of scripts) {
    if (!/\/packages\/[^/]+\/dist\//.test(url)) continue;
    const called = functions.filter((one) => !isModule(one) && (one.ranges[0]?.count ?? 0) > 0);
    if (called.length > 0) calls[fileURLToPath(url)] = called.map(({ functionName }) => functionName);
  }
  return calls;
}

/** The code of a module that runs when it is imported takes part in no event. */
function isModule({ functionName, ranges }: Profiler.FunctionCoverage): boolean {
  return functionName === '' && ranges[0]?.startOffset === 0;
}

/** Programs run from modules, one for each source file, where no bundle of them is found. */
function hideBundle(): void {
  const { statSync } = fs;
  const withoutBundle = (path: fs.PathLike, options?: fs.StatSyncOptions) =>
    String(path).includes('/millrace/bundle/') ? undefined : statSync(path, options);
  Object.assign(fs, { statSync: withoutBundle });
  syncBuiltinESMExports();
}

/** Child processes get neither the environment nor the options of this one. */
function probeChildren(target: string): void {
  const { spawn } = child_process;
  const spawnProbed = (command: string, words: readonly string[], options: child_process.SpawnOptions) =>
    command === process.execPath
      ? spawn(command, ['--import', import.meta.url, ...words], {
          ...options,
          env: { ...options.env, [folderVariable]: target },
        })
      : spawn(command, words, options);
  Object.assign(child_process, { spawn: spawnProbed });
  syncBuiltinESMExports();
}
