/** Finds the command and runs it. Everything it uses of the process is passed in. */
import { ConfigError, formatConfigProblem } from '@millrace/protocol';
import type { Environment } from '../config/environment-layer.ts';
import { didYouMean } from '../config/suggest.ts';
import type { FailedLoad } from '../load-models.ts';
import type { StartServer } from '../running-server.ts';
import type { RouterRestart } from '../supervisor/messages.ts';
import { type OutputStream, terminalOf } from '../terminal.ts';
import { CommandFailure } from './command-failure.ts';
import { type CommandSpec, commands, type Shell, shells, subcommandsOf } from './command-table.ts';
import { completionScript } from './completion.ts';
import { exitCodes } from './exit-codes.ts';
import { commandHelp, generalHelp } from './help.ts';
import { runInferCommand } from './infer/infer-command.ts';
import { loadConfig } from './load-config.ts';
import { manage } from './models/manage-command.ts';
import { scanModels } from './models/scan-command.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';
import { type Delay, type SignalSource, serve } from './serve.ts';
import { printTypes } from './types/types-command.ts';

export interface CommandEnvironment {
  /** The arguments after `millrace`. */
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly cwd: string;
  readonly version: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly signals: SignalSource;
  /** Whether the process has a terminal now. */
  readonly hasTerminal: () => boolean;
  /** Calls back when whoever passes signals on is gone; returns a function that stops watching. */
  readonly watchParent: (onGone: () => void) => () => void;
  readonly startServer: StartServer;
  /** Loads the models of paths once; resolves with those that cannot be loaded. */
  readonly loadModels: (paths: readonly string[]) => Promise<readonly FailedLoad[]>;
  /** Why this process was started in place of another; undefined where it was not. */
  readonly restart?: RouterRestart | undefined;
  readonly fetch: typeof fetch;
  readonly delay: Delay;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  readonly exitNow: (code: number) => void;
}

/** Resolves with the exit code. */
export async function runCommand(parts: CommandEnvironment): Promise<number> {
  const [name = '', ...args] = parts.args;
  if (name === '' || name === '--help' || name === '-h' || name === 'help') return help(parts, args);
  if (name === '--version' || name === '-V') return say(parts, `${parts.version}\n`);
  const main = commands.find((one) => one.name === name);
  if (main === undefined) {
    const what = name.startsWith('-') ? 'flag' : 'command';
    const near = didYouMean(name, [...commands.map((one) => one.name), 'help']);
    return complain(parts, [`${name} is not a ${what} of millrace.${near} millrace --help lists them.`]);
  }
  const below = subcommandsOf(main).get(args[0] ?? '');
  const command = below ?? main;
  const parsed = parseArguments(command, below === undefined ? args : args.slice(1));
  if (parsed.flags.isOn('help')) return say(parts, commandHelp(command));
  if (parsed.flags.isOn('version')) return say(parts, `${parts.version}\n`);
  try {
    if (command.name !== 'serve' && parsed.problems.length > 0) throw new ConfigError(parsed.problems);
    return await dispatch(command, parsed, parts);
  } catch (error) {
    if (error instanceof ConfigError) return complain(parts, error.problems.map(formatConfigProblem));
    if (!(error instanceof CommandFailure)) throw error;
    complain(parts, [error.message]);
    return exitCodes.failure;
  }
}

async function dispatch(command: CommandSpec, parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  switch (command.name) {
    case 'serve':
      return serve({
        loadConfig: () => loadConfig(parsed, parts.environment, parts.cwd),
        version: parts.version,
        startServer: parts.startServer,
        restart: parts.restart,
        terminal: terminalOf(parts.stdout, parts.environment),
        complain: (text) => void parts.stderr.write(`millrace: ${text}\n`),
        signals: parts.signals,
        hasTerminal: parts.hasTerminal,
        watchParent: parts.watchParent,
        delay: parts.delay,
        now: parts.now,
        exitNow: parts.exitNow,
      });
    case 'models':
    case 'models scan':
      return scanModels(parsed, parts);
    case 'streams':
      throw needsCommand(command, parsed);
    case 'infer':
      return runInferCommand(parsed, parts);
    // Imported on demand: the other commands start faster without them.
    case 'stream': {
      const { runStreamCommand } = await import('./stream/stream-command.ts');
      return runStreamCommand(parsed, parts);
    }
    case 'drill': {
      const { runDrillCommand } = await import('./drill/drill-command.ts');
      return runDrillCommand(parsed, parts);
    }
    case 'chaos': {
      const { runChaosCommandLine } = await import('./chaos/chaos-command.ts');
      return runChaosCommandLine(parsed, parts);
    }
    case 'types':
      return printTypes(parsed, parts);
    case 'version':
      return printVersion(parsed, parts);
    case 'completion':
      return printCompletion(parsed, parts);
    default:
      return manage(command, parsed, parts);
  }
}

function needsCommand(command: CommandSpec, { positionals: [written] }: ParsedArguments): ConfigError {
  const names = [...subcommandsOf(command).keys()];
  const what = written === undefined ? 'needs a command' : `has no command ${written}.${didYouMean(written, names)}`;
  return new ConfigError([{ source: `millrace ${command.name}`, message: `${what}: give one of ${names.join(', ')}` }]);
}

function help(parts: CommandEnvironment, about: readonly string[]): number {
  const main = commands.find((one) => one.name === about[0]);
  const command = main && (subcommandsOf(main).get(about[1] ?? '') ?? main);
  return say(parts, command === undefined ? generalHelp() : commandHelp(command));
}

function printVersion(parsed: ParsedArguments, parts: CommandEnvironment): number {
  const versions = { millrace: parts.version, node: process.version };
  if (parsed.flags.isOn('json')) return say(parts, `${JSON.stringify(versions)}\n`);
  return say(parts, `millrace ${versions.millrace} (Node.js ${versions.node})\n`);
}

function printCompletion(parsed: ParsedArguments, parts: CommandEnvironment): number {
  const written = parsed.positionals[0];
  const shell = shells.find((one): one is Shell => one === written);
  if (shell !== undefined) return say(parts, completionScript(shell));
  const what = written === undefined ? 'needs the name of a shell' : `does not support ${written}; give one of these`;
  throw new ConfigError([{ source: 'millrace completion', message: `${what}: ${shells.join(', ')}` }]);
}

function say(parts: CommandEnvironment, text: string): number {
  parts.stdout.write(text);
  return exitCodes.ok;
}

function complain(parts: CommandEnvironment, lines: readonly string[]): number {
  // A problem of a command names it already.
  const named = lines.map((line) => (line.startsWith('millrace ') ? line : `millrace: ${line}`));
  parts.stderr.write(named.map((line) => `${line}\n`).join(''));
  return exitCodes.configuration;
}
