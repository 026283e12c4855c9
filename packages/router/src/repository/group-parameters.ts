/** What a model's `parameters` say of one of its instance groups: `millrace.reserve.GROUP` and `millrace.threads.GROUP`. */
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import { suggestionFor } from './config-text/suggestion.ts';

export const reservePrefix = 'millrace.reserve.';
export const threadsPrefix = 'millrace.threads.';

export const groupThreadsMax = 1024;

export interface GroupChoice {
  /** Its instances take requests of this priority level and more urgent ones only; Infinity: all. */
  readonly priorityMax: number;
  /** Threads of one instance; 0: as many as the model's others. */
  readonly threads: number;
}

function isGroupParameter(key: string): boolean {
  return key.startsWith(reservePrefix) || key.startsWith(threadsPrefix);
}

/** The choices for each of the groups, by name. */
export function readGroupChoices(
  config: ModelConfig,
  groups: readonly string[],
  findings: Findings,
): ReadonlyMap<string, GroupChoice> {
  const choices = new Map(groups.map((group) => [group, { priorityMax: Number.POSITIVE_INFINITY, threads: 0 }]));
  const levels = Math.max(1, Number(config.dynamic_batching?.priority_levels ?? 0));
  for (const [key, { string_value = '' }] of Object.entries(config.parameters ?? {})) {
    if (!isGroupParameter(key)) continue;
    const path = `parameters[${JSON.stringify(key)}]`;
    const isReserve = key.startsWith(reservePrefix);
    const group = key.slice((isReserve ? reservePrefix : threadsPrefix).length);
    const choice = choices.get(group);
    const value = /^\d{1,9}$/.test(string_value) ? Number(string_value) : Number.NaN;
    if (choice === undefined) {
      findings.problem(path, `there is no instance group ${JSON.stringify(group)}${suggestionFor(group, groups)}`);
    } else if (isReserve && levels === 1) {
      findings.problem(path, 'needs requests of different urgency; write priority_levels in dynamic_batching');
    } else if (isReserve && !(value >= 1 && value < levels)) {
      const range = `from 1 to ${levels - 1}, below the ${levels} priority_levels`;
      findings.problem(path, `${JSON.stringify(string_value)} is not a whole number ${range}`);
    } else if (!isReserve && !(value >= 1 && value <= groupThreadsMax)) {
      findings.problem(path, `${JSON.stringify(string_value)} is not a whole number from 1 to ${groupThreadsMax}`);
    } else if (isReserve) choice.priorityMax = value;
    else choice.threads = value;
  }
  const reserved = [...choices.values()].filter(({ priorityMax }) => priorityMax !== Number.POSITIVE_INFINITY);
  if (reserved.length > 0 && reserved.length === choices.size) {
    findings.problem(
      'parameters',
      'reserve every instance group, so no instance takes the least urgent requests; leave one group unreserved',
    );
  }
  return choices;
}
