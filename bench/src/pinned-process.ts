/** Starts a program on one core where the system lets us, so that server and load do not share one. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

export const canPin =
  process.platform === 'linux' && availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

export const pinning = canPin ? 'server on core 0, load on core 1' : 'not pinned';

export function startPinned(
  /** One core, or several as `taskset` takes them. */
  cores: number | string,
  command: string,
  commandArguments: readonly string[],
  input: 'ignore' | 'pipe' = 'ignore',
  environment: Readonly<Record<string, string>> = {},
): ChildProcess {
  const stdio: ['ignore' | 'pipe', 'pipe', 'inherit'] = [input, 'pipe', 'inherit'];
  // Other servers use the engine too, and its telemetry would be measured with them.
  const options = { stdio, env: { ...process.env, ...environment, ORT_DISABLE_TELEMETRY: '1' } };
  return canPin && (typeof cores === 'string' || cores < availableParallelism())
    ? spawn('taskset', ['-c', String(cores), command, ...commandArguments], options)
    : spawn(command, commandArguments, options);
}

/** The first match in standard output from now on, or an error when the program ends before it. */
export function firstMatch(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: string): void => {
      text += chunk;
      const match = pattern.exec(text);
      if (match === null) return;
      child.stdout?.off('data', onData);
      child.off('exit', onExit);
      child.stdout?.resume();
      resolve(match);
    };
    const onExit = (code: number | null): void =>
      reject(new Error(`the program ended with ${code} before it printed ${pattern}: ${text}`));
    child.stdout?.setEncoding('utf8');
    child.stdout?.on('data', onData);
    child.once('exit', onExit);
  });
}

export function stopped(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else {
      child.once('exit', () => resolve());
      child.kill('SIGTERM');
    }
  });
}

/** Process ids of those that this process started. */
export function childrenOf(pid: number): readonly number[] {
  return execFileSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(Number);
}

/** The router below the supervisor that `millrace serve` is. */
export function routerBelow(supervisor: number): number {
  return childrenOf(supervisor)[0] as number;
}

/** Moves a running process, all its threads included, to these cores, like `1` or `0-3`. */
export function moveTo(cores: string, pid: number): void {
  execFileSync('taskset', ['-p', '-a', '-c', cores, String(pid)], { stdio: 'ignore' });
}
