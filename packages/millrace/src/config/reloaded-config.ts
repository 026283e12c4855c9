/** Which settings a new configuration changes, and which of them apply to a server that runs. */
import { isDeepStrictEqual } from 'node:util';
import { type Config, configFields, type NamedField } from './fields.ts';

export interface ReloadedConfig {
  /** What is in effect now: the old configuration with the changes that apply. */
  readonly config: Config;
  /** Paths of the fields whose new values apply. */
  readonly applied: readonly string[];
  /** Paths of the fields whose new values take a restart. */
  readonly restartNeeded: readonly string[];
}

export function reloadedConfig(current: Config, next: Config): ReloadedConfig {
  const applied: string[] = [];
  const restartNeeded: string[] = [];
  const groups: Record<string, Record<string, unknown>> = {};
  for (const field of configFields) {
    const [before, after] = [valueIn(current, field), valueIn(next, field)];
    const isChanged = !isDeepStrictEqual(before, after);
    const isApplied = isChanged && field.field.isReloadable === true && !switchesTls(field, before, after);
    if (isChanged) (isApplied ? applied : restartNeeded).push(field.path);
    groups[field.group] ??= {};
    (groups[field.group] as Record<string, unknown>)[field.name] = isApplied ? after : before;
  }
  for (const group of Object.values(groups)) Object.freeze(group);
  return { config: Object.freeze(groups) as Config, applied, restartNeeded };
}

/** A port cannot begin or cease to speak TLS, or to demand client certificates; other files apply. */
function switchesTls({ group }: NamedField, before: unknown, after: unknown): boolean {
  return group === 'tls' && (before === '') !== (after === '');
}

function valueIn(config: Config, { group, name }: NamedField): unknown {
  return (config as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[group]?.[name];
}
