/** What a parameter of a model configuration may be set to. */
import { suggestionFor } from './config-text/suggestion.ts';

export interface ParameterKind {
  readonly meaning: string;
  /** The value when it is not written, for the reference. */
  readonly without: string;
  /** Range of a whole number, the allowed values, or the form of a name; none: read and checked where it is used. */
  readonly range?: readonly [min: number, max: number];
  readonly choices?: readonly string[];
  readonly form?: RegExp;
  /** The accepted values as text for the reference, where none of the above describes them. */
  readonly takes?: string;
}

/** What is wrong with the value; undefined: nothing. */
export function valueProblem(text: string, kind: ParameterKind): string | undefined {
  if (kind.choices !== undefined && !kind.choices.includes(text)) {
    return `${JSON.stringify(text)} is none of ${kind.choices.join(', ')}${suggestionFor(text, kind.choices)}`;
  }
  if (kind.form !== undefined && !kind.form.test(text)) {
    return `${JSON.stringify(text)} is not a name; use up to 64 letters, digits, '_', '.' and '-'`;
  }
  if (kind.range !== undefined) {
    const [min, max] = kind.range;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) return `${JSON.stringify(text)} is not a whole number from ${min} to ${max}`;
  }
  return undefined;
}
