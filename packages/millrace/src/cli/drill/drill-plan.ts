/** What the arguments of `millrace drill` ask for. */
import { ConfigError, type ConfigProblem, type JsonObject, type JsonValue, parseJson } from '@millrace/protocol';
import { takeSeconds } from '../../config/units.ts';
import { wholeNumber } from '../flag-readers.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';
import { isObject, urlFrom } from '../server-call.ts';
import { type DrillKind, drillKinds } from './drill-spec.ts';

export interface DrillPlan {
  readonly kinds: readonly DrillKind[];
  readonly model: string;
  readonly prompt: string;
  readonly parameters: JsonObject;
  /** Outputs before the failure. */
  readonly after: number;
  readonly pauseMs: number;
  readonly deadlineMs: number;
  /** Of a server that the drill starts; undefined: those of the repository. */
  readonly modelsPath: string | undefined;
  readonly running: RunningTarget | undefined;
  readonly isJson: boolean;
}

/** A server that somebody else has started. */
export interface RunningTarget {
  readonly url: string;
  readonly routerPid: number | undefined;
  readonly workerPid: number | undefined;
  readonly journalPath: string | undefined;
}

const defaultParameters = { seed: 7, temperature: 0.8, max_tokens: 24, min_tokens: 24 };
const loopbackHosts = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function drillPlanFrom({ flags }: ParsedArguments): DrillPlan {
  const problems: ConfigProblem[] = [];
  const plan: DrillPlan = {
    kinds: kindsFrom(flags, problems),
    model: flags.takeText('model') ?? 'storyteller',
    prompt: flags.takeText('prompt') ?? 'Once upon a time',
    parameters: parametersFrom(flags, problems),
    after: wholeNumber(flags, 'after', 4, 1, problems, 10_000),
    pauseMs: secondsFrom(flags, 'pause', 2, 10, problems) * 1000,
    deadlineMs: secondsFrom(flags, 'deadline', 30, 600, problems) * 1000,
    modelsPath: flags.takeText('models'),
    running: takeRunning(flags, problems),
    isJson: flags.isOn('json'),
  };
  if (plan.running === undefined) {
    for (const flag of ['router-pid', 'worker-pid', 'journal-path']) {
      if (flags.takeText(flag) !== undefined)
        problems.push({ source: `--${flag}`, message: 'has no effect without --url' });
    }
  } else {
    if (plan.modelsPath !== undefined) problems.push({ source: '--models', message: 'has no effect with --url' });
    problems.push(...impossible(plan.running, plan.kinds));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return plan;
}

/** What a drill cannot do to a server that somebody else has started. */
function impossible(
  { url, routerPid, workerPid, journalPath }: RunningTarget,
  kinds: readonly DrillKind[],
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const add = (kind: DrillKind, message: string): void => {
    if (kinds.includes(kind)) problems.push({ source: `--kind ${kind}`, message });
  };
  const isHere = URL.canParse(url) && loopbackHosts.test(new URL(url).hostname);
  if (!isHere) {
    for (const kind of ['worker', 'router', 'store-pause'] as const) {
      add(kind, `is possible on the machine of the server only, and ${url} may be another; --kind link is possible`);
    }
    return problems;
  }
  if (url.startsWith('https:')) add('link', 'is possible with http:// only: a proxy has no certificate of the server');
  if (routerPid === undefined)
    add('router', 'needs the process to kill: --router-pid PID, from the line "listening" of the log');
  if (journalPath === undefined)
    add('store-pause', 'needs the folder of the journal: --journal-path STORE_PATH/journal');
  if (workerPid !== undefined && workerPid === routerPid) {
    problems.push({ source: '--worker-pid', message: 'is the same process as --router-pid' });
  }
  return problems;
}

function kindsFrom(flags: FlagValues, problems: ConfigProblem[]): readonly DrillKind[] {
  const written = flags.allTexts('kind');
  // Of a server that somebody else has started, what needs nothing else.
  if (written.length === 0) return flags.takeText('url') === undefined ? drillKinds : ['link'];
  const kinds = new Set<DrillKind>();
  for (const name of written) {
    const kind = drillKinds.find((one) => one === name);
    if (kind !== undefined) kinds.add(kind);
    else if (name === 'all') for (const one of drillKinds) kinds.add(one);
    else problems.push({ source: '--kind', message: `must be one of ${drillKinds.join(', ')} or all, not "${name}"` });
  }
  return [...kinds];
}

function takeRunning(flags: FlagValues, problems: ConfigProblem[]): RunningTarget | undefined {
  if (flags.takeText('url') === undefined) return undefined;
  const pid = (flag: string): number | undefined =>
    // Smaller ones are nobody's server.
    flags.takeText(flag) === undefined ? undefined : wholeNumber(flags, flag, 2, 2, problems, 2 ** 22);
  return {
    url: urlFrom(flags, problems),
    routerPid: pid('router-pid'),
    workerPid: pid('worker-pid'),
    journalPath: flags.takeText('journal-path'),
  };
}

function parametersFrom(flags: FlagValues, problems: ConfigProblem[]): JsonObject {
  const written = flags.takeText('parameters');
  if (written === undefined) return defaultParameters;
  let value: JsonValue | undefined;
  try {
    value = parseJson(new TextEncoder().encode(written));
  } catch {
    // Said below.
  }
  if (isObject(value)) return value;
  problems.push({ source: '--parameters', message: `must be a JSON object, like '{"seed": 7}', not ${written}` });
  return {};
}

function secondsFrom(
  flags: FlagValues,
  flag: string,
  fallback: number,
  max: number,
  problems: ConfigProblem[],
): number {
  const written = flags.takeText(flag);
  if (written === undefined) return fallback;
  const seconds = takeSeconds(written);
  if (seconds !== undefined && seconds >= 0.1 && seconds <= max) return seconds;
  problems.push({ source: `--${flag}`, message: `must be seconds from 0.1 to ${max}, not "${written}"` });
  return fallback;
}
