/** Finds the command that was asked for and runs it. Everything it touches of the process is handed in. */
import { ConfigError, formatConfigProblem } from '@millrace/protocol';
import type { Environment } from '../config/environment-layer.ts';
import { didYouMean } from '../config/suggest.ts';
import type { StartServer } from '../running-server.ts';
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

export interface CommandEnvironment {
  /** The words after `millrace`. */
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly cwd: string;
  readonly version: string;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly signals: SignalSource;
  readonly startServer: StartServer;
  readonly fetch: typeof fetch;
  readonly delay: Delay;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  readonly exitNow: (code: number) => void;
}

/** Resolves with the exit code. */
export async function runCommand(context: CommandEnvironment): Promise<number> {
  const [name = '', ...words] = context.words;
  if (name === '' || name === '--help' || name === '-h' || name === 'help') return help(context, words);
  if (name === '--version' || name === '-V') return say(context, `${context.version}\n`);
  const main = commands.find((one) => one.name === name);
  if (main === undefined) {
    const what = name.startsWith('-') ? 'flag' : 'command';
    const near = didYouMean(name, [...commands.map((one) => one.name), 'help']);
    return complain(context, [`${name} is not a ${what} of millrace.${near} millrace --help lists them.`]);
  }
  const below = subcommandsOf(main).get(words[0] ?? '');
  const command = below ?? main;
  const parsed = parseArguments(command, below === undefined ? words : words.slice(1));
  if (parsed.flags.isOn('help')) return say(context, commandHelp(command));
  if (parsed.flags.isOn('version')) return say(context, `${context.version}\n`);
  try {
    if (command.name !== 'serve' && parsed.problems.length > 0) throw new ConfigError(parsed.problems);
    return await dispatch(command, parsed, context);
  } catch (error) {
    if (error instanceof ConfigError) return complain(context, error.problems.map(formatConfigProblem));
    if (!(error instanceof CommandFailure)) throw error;
    complain(context, [error.message]);
    return exitCodes.failure;
  }
}

async function dispatch(command: CommandSpec, parsed: ParsedArguments, context: CommandEnvironment): Promise<number> {
  switch (command.name) {
    case 'serve':
      return serve({
        config: loadConfig(parsed, context.environment, context.cwd),
        version: context.version,
        startServer: context.startServer,
        terminal: terminalOf(context.stdout, context.environment),
        complain: (text) => void context.stderr.write(`millrace: ${text}\n`),
        signals: context.signals,
        delay: context.delay,
        exitNow: context.exitNow,
      });
    case 'models':
    case 'models scan':
      return scanModels(parsed, context);
    case 'infer':
      return runInferCommand(parsed, context);
    case 'version':
      return printVersion(parsed, context);
    case 'completion':
      return printCompletion(parsed, context);
    default:
      return manage(command, parsed, context);
  }
}

function help(context: CommandEnvironment, about: readonly string[]): number {
  const main = commands.find((one) => one.name === about[0]);
  const command = main && (subcommandsOf(main).get(about[1] ?? '') ?? main);
  return say(context, command === undefined ? generalHelp() : commandHelp(command));
}

function printVersion(parsed: ParsedArguments, context: CommandEnvironment): number {
  const versions = { millrace: context.version, node: process.version };
  if (parsed.flags.isOn('json')) return say(context, `${JSON.stringify(versions)}\n`);
  return say(context, `millrace ${versions.millrace} (Node.js ${versions.node})\n`);
}

function printCompletion(parsed: ParsedArguments, context: CommandEnvironment): number {
  const written = parsed.positionals[0];
  const shell = shells.find((one): one is Shell => one === written);
  if (shell !== undefined) return say(context, completionScript(shell));
  const what = written === undefined ? 'needs the name of a shell' : `knows no ${written}`;
  throw new ConfigError([{ source: 'millrace completion', message: `${what}: ${shells.join(', ')}` }]);
}

function say(context: CommandEnvironment, text: string): number {
  context.stdout.write(text);
  return exitCodes.ok;
}

function complain(context: CommandEnvironment, lines: readonly string[]): number {
  context.stderr.write(lines.map((line) => `millrace: ${line}\n`).join(''));
  return exitCodes.configuration;
}
