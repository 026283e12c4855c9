/** The test model that takes about a millisecond a step, under names and limits of a test's own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelRepository } from '@millrace/worker/testing';
import type { NamedValues } from './golden.ts';
import { repositoryRoot } from './repository-root.ts';

const folder = join(repositoryRoot, 'tests/models/slow');

/** With these `millrace.…` parameters instead of the model's. */
export function addSlowModel(
  models: ModelRepository,
  name: string,
  parameters: Readonly<Record<string, string | number>> = {},
  /** Further text of its configuration. */
  more = '',
): void {
  const config = readFileSync(join(folder, 'config.pbtxt'), 'utf8')
    .split('\n')
    .filter((line) => !/^(name|parameters)\b/.test(line));
  for (const [key, value] of Object.entries({ threads: 1, ...parameters })) {
    config.push(`parameters { key: "millrace.${key}" value { string_value: "${value}" } }`);
  }
  models.copy(folder, name).write(`${name}/config.pbtxt`, `${config.join('\n')}\n${more}`);
}

export function steps(count: number): readonly NamedValues[] {
  return [{ name: 'steps', datatype: 'INT64', shape: [1], values: [BigInt(count)] }];
}
