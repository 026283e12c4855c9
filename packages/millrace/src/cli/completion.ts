/** Completion scripts, made from the command table; nothing is asked of the program while the user types. */
import { type CommandSpec, commands, type FlagSpec, flagsOf, generalFlags, type Shell } from './command-table.ts';

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
  const cases = commands.flatMap((command) => {
    const values = flagsOf(command).flatMap((flag) => {
      if (flag.placeholder === undefined) return [];
      return [`        --${flag.flag}) ${bashValue(flag)}; return ;;`];
    });
    const fallback =
      command.completesArguments === 'directory'
        ? 'COMPREPLY=($(compgen -d -- "$current"))'
        : `COMPREPLY=($(compgen -W "${(command.argumentChoices ?? []).join(' ')}" -- "$current"))`;
    return [
      `    ${command.name})`,
      ...(values.length === 0 ? [] : ['      case "$previous" in', ...values, '      esac']),
      `      flags="${flagsOf(command).flatMap(names).join(' ')}"`,
      `      if [[ "$current" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); else ${fallback}; fi`,
      '      ;;',
    ];
  });
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
    ...cases,
    '  esac',
    '}',
    'complete -o filenames -F _millrace millrace',
    '',
  ].join('\n');
}

function bashValue(flag: FlagSpec): string {
  if (flag.choices !== undefined) return `COMPREPLY=($(compgen -W "${flag.choices.join(' ')}" -- "$current"))`;
  if (flag.completes === 'file') return 'COMPREPLY=($(compgen -f -- "$current"))';
  if (flag.completes === 'directory') return 'COMPREPLY=($(compgen -d -- "$current"))';
  return 'COMPREPLY=()';
}

function zshScript(): string {
  const described = commands.map((command) => `    ${zshQuoted(`${command.name}:${command.summary}`)}`);
  const cases = commands.flatMap((command) => [
    `    ${command.name})`,
    `      _arguments -s \\`,
    ...flagsOf(command).flatMap((flag) => zshFlag(flag).map((line) => `        ${line} \\`)),
    `        ${zshArguments(command)}`,
    '      ;;',
  ]);
  return [
    '#compdef millrace',
    '_millrace() {',
    '  local -a commands',
    '  commands=(',
    ...described,
    '  )',
    '  if (( CURRENT == 2 )); then',
    "    _describe 'command' commands",
    '    return',
    '  fi',
    '  local command="$words[2]"',
    '  shift words',
    '  (( CURRENT -= 1 ))',
    '  case "$command" in',
    ...cases,
    '  esac',
    '}',
    'if [[ "$funcstack[1]" == "_millrace" ]]; then _millrace "$@"; else compdef _millrace millrace; fi',
    '',
  ].join('\n');
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
    const head = `complete -c millrace -n ${fishQuoted(inside)}`;
    if (command.completesArguments === 'directory') lines.push(`${head} -a '(__fish_complete_directories)'`);
    if (command.argumentChoices !== undefined)
      lines.push(`${head} -a ${fishQuoted(command.argumentChoices.join(' '))}`);
    for (const flag of flagsOf(command)) {
      lines.push(fishFlag(inside, flag.flag, flag));
      if (flag.isNegatable === true) lines.push(fishFlag(inside, `no-${flag.flag}`, flag));
    }
  }
  return [...lines, ''].join('\n');
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
