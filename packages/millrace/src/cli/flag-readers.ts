/** Values of flags, checked; what is wrong is added to the problems. */
import type { ConfigProblem } from '@millrace/protocol';
import type { FlagValues } from './parse-arguments.ts';

export function wholeNumber(
  flags: FlagValues,
  flag: string,
  fallback: number,
  min: number,
  problems: ConfigProblem[],
  max = 0xffff_ffff,
): number {
  const written = flags.takeText(flag);
  if (written === undefined) return fallback;
  const value = /^\d+$/.test(written) ? Number(written) : Number.NaN;
  if (value >= min && value <= max) return value;
  problems.push({
    source: `--${flag}`,
    message: `must be a whole number from ${min} to ${max}, not "${written}"`,
  });
  return fallback;
}

/** `NAME=…` by name. */
export function namedValues(
  flags: FlagValues,
  flag: string,
  form: string,
  problems: ConfigProblem[],
): Map<string, string> {
  const values = new Map<string, string>();
  for (const written of flags.allTexts(flag)) {
    const equals = written.indexOf('=');
    if (equals < 1) problems.push({ source: `--${flag}`, message: `must be ${form}, not "${written}"` });
    else values.set(written.slice(0, equals), written.slice(equals + 1));
  }
  return values;
}
