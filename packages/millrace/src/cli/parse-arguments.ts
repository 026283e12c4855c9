/** Splits the arguments of a command into positional ones and flags, and reports every one that is not valid. */
import type { ConfigProblem } from '@millrace/protocol';
import { didYouMean } from '../config/suggest.ts';
import { type CommandSpec, type FlagSpec, flagsOf } from './command-table.ts';

export interface ParsedArguments {
  readonly positionals: readonly string[];
  readonly flags: FlagValues;
  readonly problems: readonly ConfigProblem[];
}

/** The flags in the order given; a switch has `true` or `false`, any other flag its text. */
export class FlagValues {
  readonly #given: { readonly spec: FlagSpec; readonly value: string | boolean }[] = [];

  add(spec: FlagSpec, value: string | boolean): void {
    this.#given.push({ spec, value });
  }

  given(): readonly { readonly spec: FlagSpec; readonly value: string | boolean }[] {
    return this.#given;
  }

  isOn(flag: string): boolean {
    return this.#given.findLast((one) => one.spec.flag === flag)?.value === true;
  }

  /** The last one counts. */
  takeText(flag: string): string | undefined {
    const value = this.#given.findLast((one) => one.spec.flag === flag)?.value;
    return typeof value === 'string' ? value : undefined;
  }

  allTexts(flag: string): readonly string[] {
    return this.#given.flatMap(({ spec, value }) => (spec.flag === flag && typeof value === 'string' ? [value] : []));
  }
}

export function parseArguments(command: CommandSpec, args: readonly string[]): ParsedArguments {
  const specs = flagsOf(command);
  const positionals: string[] = [];
  const flags = new FlagValues();
  const problems: ConfigProblem[] = [];

  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] as string;
    if (argument === '--') {
      positionals.push(...args.slice(index + 1));
      break;
    }
    if (!argument.startsWith('-') || argument === '-') {
      positionals.push(argument);
      continue;
    }
    const equals = argument.indexOf('=');
    const name = equals === -1 ? argument : argument.slice(0, equals);
    const inline = equals === -1 ? undefined : argument.slice(equals + 1);
    const match = matchFlag(specs, name);
    if (match === undefined) {
      problems.push({ source: name, message: `is not a flag of millrace ${command.name}.${suggestFlag(specs, name)}` });
    } else if (match.spec.placeholder === undefined) {
      addSwitch(match.spec, match.isNegated, inline, name, flags, problems);
    } else {
      const next = args[index + 1];
      const value = inline ?? (next !== undefined && isValue(next) ? next : undefined);
      if (value === undefined)
        problems.push({ source: name, message: `needs a value: ${name} ${match.spec.placeholder}` });
      else flags.add(match.spec, value);
      if (inline === undefined && value !== undefined) index += 1;
    }
  }

  if (positionals.length > command.argumentsMax) {
    const extra = positionals[command.argumentsMax] as string;
    problems.push({ source: extra, message: `is one argument too many for millrace ${command.name}` });
  }
  return { positionals, flags, problems };
}

// A negative number is a value; anything else with a leading dash is a flag, so a missing value is reported at its own flag.
function isValue(argument: string): boolean {
  return argument === '-' || !argument.startsWith('-') || /^-\d/.test(argument);
}

function matchFlag(specs: readonly FlagSpec[], name: string): { spec: FlagSpec; isNegated: boolean } | undefined {
  if (!name.startsWith('--')) {
    const spec = specs.find((one) => one.short !== undefined && `-${one.short}` === name);
    return spec === undefined ? undefined : { spec, isNegated: false };
  }
  const flag = name.slice(2);
  const exact = specs.find((one) => one.flag === flag);
  if (exact !== undefined) return { spec: exact, isNegated: false };
  const negated = specs.find((one) => one.isNegatable === true && `no-${one.flag}` === flag);
  return negated === undefined ? undefined : { spec: negated, isNegated: true };
}

const switchValues: Readonly<Record<string, boolean>> = { true: true, false: false };

function addSwitch(
  spec: FlagSpec,
  isNegated: boolean,
  inline: string | undefined,
  name: string,
  flags: FlagValues,
  problems: ConfigProblem[],
): void {
  const value = inline === undefined ? true : Object.hasOwn(switchValues, inline) ? switchValues[inline] : undefined;
  if (value === undefined || (isNegated && inline !== undefined)) {
    problems.push({ source: name, message: `takes no value${spec.isNegatable === true ? ' but true or false' : ''}` });
  } else {
    flags.add(spec, isNegated ? !value : value);
  }
}

function suggestFlag(specs: readonly FlagSpec[], name: string): string {
  const flagByName = new Map<string, string>();
  for (const spec of specs) {
    for (const synonym of spec.synonyms ?? []) flagByName.set(synonym, spec.flag);
    if (spec.isNegatable === true) flagByName.set(`no-${spec.flag}`, `no-${spec.flag}`);
    flagByName.set(spec.flag, spec.flag);
  }
  const written = name.replace(/^-+/, '');
  const known = flagByName.get(written);
  if (known !== undefined) return ` Did you mean --${known}?`;
  return didYouMean(written, flagByName.keys(), (near) => `--${flagByName.get(near) ?? near}`);
}
