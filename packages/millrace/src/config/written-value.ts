/** One value that was written for one field, with its source. Every layer of the configuration is a list of these. */
import type { ConfigProblem } from '@millrace/protocol';
import type { NamedField } from './fields.ts';

export interface WrittenValue {
  readonly field: NamedField;
  readonly value: unknown;
  /** A file, a variable or a flag, as a problem names it. */
  readonly source: string;
  readonly line?: number;
  /** Where relative paths start. */
  readonly folder: string;
}

export interface ConfigLayer {
  readonly values: readonly WrittenValue[];
  readonly problems: readonly ConfigProblem[];
}

/** A problem with the source of the value. */
export function problemAt(written: Pick<WrittenValue, 'field' | 'source' | 'line'>, message: string): ConfigProblem {
  const line = written.line === undefined ? {} : { line: written.line };
  return { source: written.source, ...line, field: written.field.path, message };
}
