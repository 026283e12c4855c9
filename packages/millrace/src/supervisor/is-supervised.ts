/**
 * Whether `millrace` should become a supervisor, found out without the code that reads configurations: that alone would
 * take more memory than the supervisor. A router checks everything again, and reports what is wrong.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export interface CommandStart {
  /** The arguments after `millrace`. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
}

/** `by-file`: the configuration file has the last word, and names the setting. */
export type SuperviseChoice = boolean | 'by-file';

export function superviseChoiceOf(start: CommandStart): SuperviseChoice {
  const [command, ...args] = start.args;
  // Windows neither passes signals on nor lets a process inherit listening sockets.
  if (command !== 'serve' || start.platform === 'win32') return false;
  const end = args.indexOf('--');
  const flags = end === -1 ? args : args.slice(0, end);
  if (flags.some((flag) => ['--help', '-h', '--version', '-V'].includes(flag))) return false;
  const written = flags.findLast((flag) => flag in flagValues);
  if (written !== undefined) return flagValues[written] === true;
  const variable = start.environment.MILLRACE_SUPERVISE ?? '';
  if (variable !== '') return !['false', 'no', 'off', '0'].includes(variable.toLowerCase());
  return isNamedInFile(flags, start) ? 'by-file' : true;
}

const flagValues: Readonly<Record<string, boolean>> = {
  '--supervise': true,
  '--supervise=true': true,
  '--supervise=false': false,
  '--no-supervise': false,
};

function isNamedInFile(flags: readonly string[], { environment, cwd }: CommandStart): boolean {
  const name = configFileOf(flags) ?? environment.MILLRACE_CONFIG ?? '';
  if (name === '') return false;
  try {
    return readFileSync(resolve(cwd, name), 'utf8').includes('supervise');
  } catch {
    return false;
  }
}

function configFileOf(flags: readonly string[]): string | undefined {
  const index = flags.findLastIndex((flag) => flag === '--config' || flag.startsWith('--config='));
  const flag = flags[index];
  return flag === '--config' ? flags[index + 1] : flag?.slice('--config='.length);
}
