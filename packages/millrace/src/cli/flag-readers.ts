/** Values of flags, checked; what is wrong is added to the problems. */
import { type ConfigProblem, type JsonObject, type JsonValue, parseJson } from '@millrace/protocol';
import type { FlagValues } from './parse-arguments.ts';
import { isObject } from './server-call.ts';

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

/** A JSON object; empty where the flag is not given. `example` follows "like". */
export function jsonObject(flags: FlagValues, flag: string, example: string, problems: ConfigProblem[]): JsonObject {
  const written = flags.takeText(flag);
  if (written === undefined) return {};
  let value: JsonValue;
  try {
    value = parseJson(new TextEncoder().encode(written));
  } catch (error) {
    problems.push({ source: `--${flag}`, message: `is not JSON: ${(error as Error).message}` });
    return {};
  }
  if (isObject(value)) return value;
  problems.push({ source: `--${flag}`, message: `must be a JSON object, like ${example}, not ${written}` });
  return {};
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
