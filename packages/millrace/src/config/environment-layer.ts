/** MILLRACE_* variables. An empty one counts as not set: that is how compose files and charts write "no value". */
import path from 'node:path';
import type { ConfigProblem } from '@millrace/protocol';
import { configFields, configVariable } from './fields.ts';
import { didYouMean } from './suggest.ts';
import type { ConfigLayer, WrittenValue } from './written-value.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'MILLRACE_';

/**
 * Kubernetes sets variables for every Service of the namespace in every pod, named after the Service. For a Service called
 * `millrace` or `millrace-metrics` they would be taken for settings.
 */
function isKubernetesServiceLink(name: string, value: string): boolean {
  if (/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/.test(name)) return true;
  if (/_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value);
}

export function readEnvironmentLayer(environment: Environment, cwd: string): ConfigLayer {
  const values: WrittenValue[] = [];
  const problems: ConfigProblem[] = [];
  const known = [configVariable, ...configFields.map((field) => field.variable)];
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || value === undefined || value === '' || name === configVariable) continue;
    if (isKubernetesServiceLink(name, value)) continue;
    const field = configFields.find((one) => one.variable === name);
    if (field === undefined) {
      problems.push({ source: name, message: `is not a variable of Millrace.${didYouMean(name, known)}` });
      continue;
    }
    const written = field.field.isList ? value.split(path.delimiter).filter((part) => part !== '') : value;
    values.push({ field, value: written, source: name, folder: cwd });
  }
  return { values, problems };
}
