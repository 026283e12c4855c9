/** Help, made from the command table. */
import { type CommandSpec, commands, type FlagSpec, generalFlags, subcommandsOf } from './command-table.ts';
import { wrapped } from './text-layout.ts';

const widthMax = 100;

const exitCodeHelp = [
  ['0', 'success; a server that was told to stop has finished its requests'],
  ['1', 'failure: of the start, a model or a request'],
  ['2', 'the configuration or the command line is wrong; nothing was opened'],
  ['129', 'the terminal was closed'],
  ['130, 143', 'ended at once by a second SIGINT or SIGTERM; a stream or drill by the first'],
] as const;

export function generalHelp(): string {
  const nameWidth = Math.max(...commands.map((command) => command.name.length));
  return [
    'Millrace, an inference server for ONNX models.',
    '',
    'Usage: millrace COMMAND [flags]',
    '',
    'Commands:',
    ...commands.map((command) => `  ${command.name.padEnd(nameWidth)}  ${command.summary}`),
    '',
    'Start here:',
    '  millrace serve ./models',
    '',
    ...flagSection('Flags', generalFlags),
    'Exit codes:',
    ...exitCodeHelp.map(([code, meaning]) => `  ${code.padEnd(8)}  ${meaning}`),
    '',
    'millrace COMMAND --help describes each command.',
    '',
  ].join('\n');
}

export function commandHelp(command: CommandSpec): string {
  return [
    command.summary,
    '',
    `Usage: millrace ${command.name} ${command.usage}`,
    '',
    ...(command.details.length === 0 ? [] : [...command.details, '']),
    'Examples:',
    ...command.examples.map((example) => `  ${example}`),
    '',
    ...subcommandSection(command),
    ...command.groups.flatMap((group) => flagSection(group.title, group.flags)),
    ...flagSection('General', generalFlags),
  ].join('\n');
}

function subcommandSection(command: CommandSpec): string[] {
  const below = [...subcommandsOf(command)];
  if (below.length === 0) return [];
  const nameWidth = Math.max(...below.map(([name]) => name.length));
  return ['Commands:', ...below.map(([name, one]) => `  ${name.padEnd(nameWidth)}  ${one.summary}`), ''];
}

function flagSection(title: string, flags: readonly FlagSpec[]): string[] {
  const heads = flags.map(headOf);
  const headWidth = Math.max(...heads.map((head) => head.length));
  const lines = flags.flatMap((flag, index) => {
    const [first = '', ...more] = wrapped(bodyOf(flag), widthMax - headWidth - 4);
    return [
      `  ${(heads[index] as string).padEnd(headWidth)}  ${first}`,
      ...more.map((line) => `  ${' '.repeat(headWidth)}  ${line}`),
    ];
  });
  return [`${title}:`, ...lines, ''];
}

function headOf(flag: FlagSpec): string {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const name = flag.isNegatable === true ? `[no-]${flag.flag}` : flag.flag;
  return `${short}--${name}${flag.placeholder === undefined ? '' : ` ${flag.placeholder}`}`;
}

function bodyOf(flag: FlagSpec): string {
  const choices = flag.choices === undefined ? '' : ` One of ${flag.choices.join(', ')}.`;
  const repeat = flag.isList === true ? ' May be repeated.' : '';
  const fallback = flag.defaultText === undefined || flag.defaultText === 'none' ? '' : ` [${flag.defaultText}]`;
  return `${flag.description}${choices}${repeat}${fallback}`;
}
