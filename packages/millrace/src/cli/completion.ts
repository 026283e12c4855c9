/** Completion scripts, generated from the command table; they do not run the program while the user types. */
import {
  type CommandSpec,
  commands,
  type FlagSpec,
  flagsOf,
  generalFlags,
  type Shell,
  subcommandsOf,
} from './command-table.ts';

export function completionScript(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bashScript();
    case 'zsh':
      return zshScript();
    case 'fish':
      return fishScript();
  }
}

function names(flag: FlagSpec): string[] {
  return [
    `--${flag.flag}`,
    ...(flag.isNegatable === true ? [`--no-${flag.flag}`] : []),
    ...(flag.short === undefined ? [] : [`-${flag.short}`]),
  ];
}

const commandNames = commands.map((command) => command.name).join(' ');

function bashScript(): string {
  return [
    '# bash completion for millrace',
    '_millrace() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" flags`,
    '  COMPREPLY=()',
    '  if (( COMP_CWORD == 1 )); then',
    `    COMPREPLY=($(compgen -W "${commandNames} ${generalFlags.flatMap(names).join(' ')}" -- "$current"))`,
    '    return',
    '  fi',
    `  case "\${COMP_WORDS[1]}" in`,
    ...commands.flatMap((command) => [
      `    ${command.name})`,
      ...bashCommand(command).map((line) => `  ${line}`),
      '      ;;',
    ]),
    '  esac',
    '}',
    'complete -o filenames -F _millrace millrace',
    '',
  ].join('\n');
}

/** What is offered after a command and after each of its subcommands. */
function bashCommand(command: CommandSpec): string[] {
  const below = [...subcommandsOf(command)];
  if (below.length === 0) return bashArguments(command);
  return [
    '    if (( COMP_CWORD == 2 )) && [[ "$current" != -* ]]; then',
    `      COMPREPLY=($(compgen -W "${below.map(([name]) => name).join(' ')}" -- "$current") $(compgen -d -- "$current"))`,
    '      return',
    '    fi',
    `    case "\${COMP_WORDS[2]}" in`,
    ...below.flatMap(([name, one]) => [
      `      ${name})`,
      ...bashArguments(one).map((line) => `    ${line}`),
      '        ;;',
    ]),
    '      *)',
    ...bashArguments(command).map((line) => `    ${line}`),
    '        ;;',
    '    esac',
  ];
}

function bashArguments(command: CommandSpec): string[] {
  const values = flagsOf(command).flatMap((flag) =>
    flag.placeholder === undefined ? [] : [`      --${flag.flag}) ${bashValue(flag)}; return ;;`],
  );
  const fallback =
    command.completesArguments === 'directory'
      ? 'COMPREPLY=($(compgen -d -- "$current"))'
      : `COMPREPLY=($(compgen -W "${(command.argumentChoices ?? []).join(' ')}" -- "$current"))`;
  return [
    ...(values.length === 0 ? [] : ['    case "$previous" in', ...values, '    esac']),
    `    flags="${flagsOf(command).flatMap(names).join(' ')}"`,
    `    if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); else ${fallback}; fi`,
  ];
}

function bashValue(flag: FlagSpec): string {
  if (flag.choices !== undefined) return `COMPREPLY=($(compgen -W "${flag.choices.join(' ')}" -- "$current"))`;
  if (flag.completes === 'file') return 'COMPREPLY=($(compgen -f -- "$current"))';
  if (flag.completes === 'directory') return 'COMPREPLY=($(compgen -d -- "$current"))';
  return 'COMPREPLY=()';
}

function zshScript(): string {
  return [
    '#compdef millrace',
    '_millrace() {',
    ...zshCommands(
      'command',
      commands.map((command) => [command.name, command] as const),
      [],
    ),
    '}',
    'if [[ "$funcstack[1]" == "_millrace" ]]; then _millrace "$@"; else compdef _millrace millrace; fi',
    '',
  ].join('\n');
}

/** Offers commands, and after one of them what belongs to it; `otherwise` is what belongs to none of them. */
function zshCommands(
  variable: string,
  choices: readonly (readonly [name: string, command: CommandSpec])[],
  otherwise: readonly string[],
): string[] {
  return [
    `  local -a ${variable}s`,
    `  ${variable}s=(`,
    ...choices.map(([name, command]) => `    ${zshQuoted(`${name}:${command.summary}`)}`),
    '  )',
    '  if (( CURRENT == 2 )); then',
    `    _describe 'command' ${variable}s`,
    ...(otherwise.length === 0 ? [] : ['    _files -/']),
    '    return',
    '  fi',
    `  local ${variable}="$words[2]"`,
    ...(otherwise.length === 0
      ? []
      : [`  if (( ! \${${variable}s[(I)$${variable}:*]} )); then`, ...otherwise, '    return', '  fi']),
    '  shift words',
    '  (( CURRENT -= 1 ))',
    `  case "$${variable}" in`,
    ...choices.flatMap(([name, command]) => [`    ${name})`, ...zshCommand(command), '      ;;']),
    '  esac',
  ];
}

function zshCommand(command: CommandSpec): string[] {
  const below = [...subcommandsOf(command)];
  return below.length === 0 ? zshCommandLine(command) : zshCommands('subcommand', below, zshCommandLine(command));
}

function zshCommandLine(command: CommandSpec): string[] {
  return [
    `      _arguments -s \\`,
    ...flagsOf(command).flatMap((flag) => zshFlag(flag).map((line) => `        ${line} \\`)),
    `        ${zshArguments(command)}`,
  ];
}

function zshFlag(flag: FlagSpec): string[] {
  const description = flag.description.replaceAll(/[[\]\\:]/g, '\\$&');
  const value = flag.placeholder === undefined ? '' : `:${flag.placeholder.replaceAll(':', '')}:${zshValue(flag)}`;
  const repeat = flag.isList === true ? '*' : '';
  // After the name: `=` lets the value follow an equals sign or a space.
  return names(flag).map((name) => {
    const equals = value !== '' && name.startsWith('--') ? '=' : '';
    return zshQuoted(`${repeat}${name}${equals}[${description}]${value}`);
  });
}

function zshValue(flag: FlagSpec): string {
  if (flag.choices !== undefined) return `(${flag.choices.join(' ')})`;
  if (flag.completes === 'file') return '_files';
  return flag.completes === 'directory' ? '_files -/' : ' ';
}

function zshArguments(command: CommandSpec): string {
  if (command.completesArguments === 'directory') return "'*:path:_files -/'";
  if (command.argumentChoices !== undefined) return `'1:choice:(${command.argumentChoices.join(' ')})'`;
  return "'*: : '";
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishScript(): string {
  const none = `not __fish_seen_subcommand_from ${commandNames}`;
  const lines = ['# fish completion for millrace', 'complete -c millrace -f'];
  for (const flag of generalFlags) lines.push(fishFlag(none, flag.flag, flag));
  for (const command of commands) {
    lines.push(`complete -c millrace -n ${fishQuoted(none)} -a ${command.name} -d ${fishQuoted(command.summary)}`);
  }
  for (const command of commands) {
    const inside = `__fish_seen_subcommand_from ${command.name}`;
    const below = [...subcommandsOf(command)];
    if (below.length === 0) {
      lines.push(...fishArguments(command, inside));
      continue;
    }
    const nowhere = `${inside}; and not __fish_seen_subcommand_from ${below.map(([name]) => name).join(' ')}`;
    for (const [name, one] of below) {
      lines.push(`complete -c millrace -n ${fishQuoted(nowhere)} -a ${name} -d ${fishQuoted(one.summary)}`);
    }
    lines.push(...fishArguments(command, nowhere));
    for (const [name, one] of below)
      lines.push(...fishArguments(one, `${inside}; and __fish_seen_subcommand_from ${name}`));
  }
  return [...lines, ''].join('\n');
}

function fishArguments(command: CommandSpec, condition: string): string[] {
  const head = `complete -c millrace -n ${fishQuoted(condition)}`;
  const lines: string[] = [];
  if (command.completesArguments === 'directory') lines.push(`${head} -a '(__fish_complete_directories)'`);
  if (command.argumentChoices !== undefined) lines.push(`${head} -a ${fishQuoted(command.argumentChoices.join(' '))}`);
  for (const flag of flagsOf(command)) {
    lines.push(fishFlag(condition, flag.flag, flag));
    if (flag.isNegatable === true) lines.push(fishFlag(condition, `no-${flag.flag}`, flag));
  }
  return lines;
}

function fishFlag(condition: string, name: string, flag: FlagSpec): string {
  const short = flag.short === undefined ? '' : ` -s ${flag.short}`;
  const head = `complete -c millrace -n ${fishQuoted(condition)} -l ${name}${short}`;
  return `${head}${fishValue(flag)} -d ${fishQuoted(flag.description)}`;
}

function fishValue(flag: FlagSpec): string {
  if (flag.placeholder === undefined) return '';
  if (flag.choices !== undefined) return ` -x -a ${fishQuoted(flag.choices.join(' '))}`;
  if (flag.completes === 'file') return ' -r -F';
  return flag.completes === 'directory' ? " -x -a '(__fish_complete_directories)'" : ' -x';
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
