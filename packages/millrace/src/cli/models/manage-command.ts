/** `millrace models …` over a running server: one call or two, a table or JSON. */
import { ConfigError, type ConfigProblem, type JsonObject, type JsonValue, stringifyJson } from '@millrace/protocol';
import { takeSeconds } from '../../config/units.ts';
import { type Paint, paintOf, terminalOf } from '../../terminal.ts';
import type { CommandSpec } from '../command-table.ts';
import { exitCodes } from '../exit-codes.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { managedFrom, timeoutMsFrom } from '../server-call.ts';
import { loadBodyFrom } from './load-body.ts';
import { type ManagementCall, ManagementClient } from './management-client.ts';
import { contextsText, instancesText, queuesText, trafficText } from './management-text.ts';
import { answerSeconds, loadSeconds } from './model-commands.ts';
import { WordReader } from './word-reader.ts';

/** What a command asks, and how its answer reads. Several calls have one answer of several members. */
interface Plan {
  readonly calls: Readonly<Record<string, ManagementCall>>;
  text(answers: Readonly<Record<string, JsonObject>>, paint: Paint): string;
}

type MakePlan = (words: WordReader, flags: FlagValues, context: CommandEnvironment) => Plan;

export async function manage(
  command: CommandSpec,
  parsed: ParsedArguments,
  context: CommandEnvironment,
): Promise<number> {
  const { flags, positionals } = parsed;
  const name = command.name.replace(/^models /, '');
  const makePlan = plans[name];
  if (makePlan === undefined) throw new Error(`no such command: ${command.name}`);
  const words = new WordReader(command, positionals);
  const plan = makePlan(words, flags, context);
  const defaultSeconds = name === 'load' || name === 'unload' ? loadSeconds : answerSeconds;
  const address = {
    ...managedFrom(flags, context.fetch, words.problems),
    timeoutMs: timeoutMsFrom(flags, defaultSeconds, words.problems),
  };
  const watch = watchFrom(flags, words.problems);
  if (words.problems.length > 0) throw new ConfigError(words.problems);
  const client = new ManagementClient(address);
  const paint = paintOf(terminalOf(context.stdout, context.environment));
  const look = async (): Promise<void> => {
    const answers: Record<string, JsonObject> = {};
    for (const [member, call] of Object.entries(plan.calls)) answers[member] = await client.call(call);
    context.stdout.write(flags.isOn('json') ? answersJson(answers) : plan.text(answers, paint));
  };
  await look();
  // The user ends a watch, or the server that no longer answers.
  while (watch !== undefined) {
    await context.delay(watch);
    if (!flags.isOn('json')) context.stdout.write('\n');
    await look();
  }
  return exitCodes.ok;
}

const plans: Readonly<Record<string, MakePlan>> = {
  list: () => ({
    calls: { contexts: get('contexts'), index: get('models') },
    text: ({ contexts = {}, index = {} }, paint) => contextsText(contexts, index, paint),
  }),
  load: (words, flags, { cwd }) => {
    const model = words.next('MODEL');
    const body = loadBodyFrom(flags, cwd, words.problems);
    return done({ method: 'POST', path: ['models', model, 'load'], body }, `${model} is loaded`);
  },
  unload: (words, flags) => {
    const model = words.next('MODEL');
    const body = { withDependents: flags.isOn('with-dependents') };
    return done({ method: 'POST', path: ['models', model, 'unload'], body }, `${model} is unloaded`);
  },
  traffic: (words) => {
    const model = words.next('MODEL');
    return { calls: { traffic: get('models', model, 'traffic') }, text: trafficOf(model) };
  },
  label: (words, flags) => {
    const [model, label, version] = [words.next('MODEL'), words.next('LABEL'), words.next('VERSION')];
    return trafficChange(model, 'PUT', ['labels', label], { version }, flags, words);
  },
  unlabel: (words, flags) => {
    const [model, label] = [words.next('MODEL'), words.next('LABEL')];
    return trafficChange(model, 'DELETE', ['labels', label], undefined, flags, words);
  },
  split: (words, flags) => {
    const model = words.next('MODEL');
    return trafficChange(model, 'PUT', ['split'], { split: words.shares('WEIGHT', 'weight') }, flags, words);
  },
  unsplit: (words, flags) => trafficChange(words.next('MODEL'), 'PUT', ['split'], { split: [] }, flags, words),
  shadow: (words, flags) => {
    const model = words.next('MODEL');
    return trafficChange(model, 'PUT', ['shadows'], { shadows: words.shares('PERCENT', 'percent') }, flags, words);
  },
  unshadow: (words, flags) => trafficChange(words.next('MODEL'), 'PUT', ['shadows'], { shadows: [] }, flags, words),
  pin: (words) => pinPlan(words, 'PUT', 'is pinned'),
  unpin: (words) => pinPlan(words, 'DELETE', 'is not pinned'),
  instances: () => ({
    calls: { instances: get('instances') },
    text: ({ instances = {} }, paint) => instancesText(instances, paint),
  }),
  'close-breaker': (words) => {
    const worker = words.next('WORKER');
    return done(
      { method: 'POST', path: ['instances', worker, 'breaker', 'close'] },
      `worker ${worker} is trusted again`,
    );
  },
  queues: () => ({ calls: { queues: get('queues') }, text: ({ queues = {} }, paint) => queuesText(queues, paint) }),
  'flush-cache': (words) => {
    const model = words.take();
    return {
      calls: { flushed: { method: 'DELETE', path: ['cache', ...(model === undefined ? [] : [model])] } },
      text: ({ flushed }) => `${String(flushed?.results ?? 0)} results forgotten\n`,
    };
  },
};

function get(...parts: readonly string[]): ManagementCall {
  return { method: 'GET', path: parts };
}

function done(call: ManagementCall, text: string): Plan {
  return { calls: { answer: call }, text: () => `${text}\n` };
}

function trafficOf(model: string): Plan['text'] {
  return ({ traffic = {} }) => trafficText(model, traffic);
}

function trafficChange(
  model: string,
  method: ManagementCall['method'],
  place: readonly string[],
  body: JsonValue | undefined,
  flags: FlagValues,
  { problems }: WordReader,
): Plan {
  const written = flags.takeText('if-revision');
  if (written !== undefined && !/^\d{1,15}$/.test(written)) {
    problems.push({ source: '--if-revision', message: `must be a whole number, not "${written}"` });
  }
  const ifRevision = written === undefined ? undefined : Number(written);
  const call = { method, path: ['models', model, ...place], ifRevision, ...(body === undefined ? {} : { body }) };
  return { calls: { traffic: call }, text: trafficOf(model) };
}

function pinPlan(words: WordReader, method: 'DELETE' | 'PUT', text: string): Plan {
  const [model, version] = [words.next('MODEL'), words.next('VERSION')];
  return done({ method, path: ['models', model, 'versions', version, 'pin'] }, `${model}:${version} ${text}`);
}

/** Milliseconds between two looks; undefined without --watch. */
function watchFrom(flags: FlagValues, problems: ConfigProblem[]): number | undefined {
  const written = flags.takeText('interval');
  if (!flags.isOn('watch')) {
    if (written !== undefined) problems.push({ source: '--interval', message: 'has no meaning without --watch' });
    return undefined;
  }
  const seconds = written === undefined ? 1 : takeSeconds(written);
  if (seconds !== undefined && seconds >= 0.1 && seconds <= 3600) return Math.ceil(seconds * 1000);
  problems.push({ source: '--interval', message: `must be seconds from 0.1 to 3600, not "${written}"` });
  return undefined;
}

/** One answer as it is; several under their names. */
function answersJson(answers: Readonly<Record<string, JsonObject>>): string {
  const all = Object.values(answers);
  const value: JsonObject = all.length === 1 ? (all[0] as JsonObject) : Object.assign({}, ...all);
  return `${stringifyJson(value)}\n`;
}
