/** `millrace models …` and `millrace streams …` for a running server: one or two calls, printed as a table or as JSON. */
import { ConfigError, type ConfigProblem, type JsonObject, type JsonValue, stringifyJson } from '@millrace/protocol';
import { takeSeconds } from '../../config/units.ts';
import { paintOf, terminalOf } from '../../terminal.ts';
import type { CommandSpec } from '../command-table.ts';
import { exitCodes } from '../exit-codes.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { managedFrom, timeoutMsFrom } from '../server-call.ts';
import { streamPlans } from '../streams/stream-plans.ts';
import { ArgumentReader } from './argument-reader.ts';
import { loadBodyFrom } from './load-body.ts';
import { type ManagementCall, ManagementClient } from './management-client.ts';
import { contextsText, instancesText, queuesText, trafficText } from './management-text.ts';
import { answerSeconds, loadSeconds } from './model-commands.ts';
import type { MakePlan, Plan } from './plan.ts';
import { unloadNotice, waitedStreamsMax } from './unload-notice.ts';

export async function manage(
  command: CommandSpec,
  parsed: ParsedArguments,
  parts: CommandEnvironment,
): Promise<number> {
  const { flags, positionals } = parsed;
  const name = command.name.replace(/^models /, '');
  const makePlan = plans[name];
  if (makePlan === undefined) throw new Error(`no such command: ${command.name}`);
  const args = new ArgumentReader(command, positionals);
  const plan = makePlan(args, flags, parts);
  const defaultSeconds = name === 'load' || name === 'unload' ? loadSeconds : answerSeconds;
  const address = {
    ...managedFrom(flags, parts.fetch, args.problems),
    timeoutMs: timeoutMsFrom(flags, defaultSeconds, args.problems),
  };
  const watch = watchFrom(flags, args.problems);
  if (args.problems.length > 0) throw new ConfigError(args.problems);
  const client = new ManagementClient(address);
  const paint = paintOf(terminalOf(parts.stdout, parts.environment));
  if (plan.first !== undefined) {
    // A server that cannot say it may do what it is asked to all the same.
    const answer = await client.call(plan.first.call).catch(() => ({}));
    const notice = plan.first.notice(answer);
    if (notice !== undefined) parts.stderr.write(`${notice}\n`);
  }
  const show = async (): Promise<void> => {
    const answers: Record<string, JsonObject> = {};
    for (const [member, call] of Object.entries(plan.calls)) answers[member] = await client.call(call);
    parts.stdout.write(flags.isOn('json') ? answersJson(answers) : plan.text(answers, paint));
  };
  await show();
  // A watch ends when the user stops it or the server no longer answers.
  while (watch !== undefined) {
    await parts.delay(watch);
    if (!flags.isOn('json')) parts.stdout.write('\n');
    await show();
  }
  return exitCodes.ok;
}

const plans: Readonly<Record<string, MakePlan>> = {
  ...streamPlans,
  list: () => ({
    calls: { contexts: get('contexts'), index: get('models') },
    text: ({ contexts = {}, index = {} }, paint) => contextsText(contexts, index, paint),
  }),
  load: (args, flags, { cwd }) => {
    const model = args.next('MODEL');
    const body = loadBodyFrom(flags, cwd, args.problems);
    return done({ method: 'POST', path: ['models', model, 'load'], body }, `${model} is loaded`);
  },
  unload: (args, flags) => {
    const model = args.next('MODEL');
    const body = { withDependents: flags.isOn('with-dependents') };
    return {
      ...done({ method: 'POST', path: ['models', model, 'unload'], body }, `${model} is unloaded`),
      first: {
        call: { method: 'GET', path: ['streams'], query: { model, open: 'true', limit: String(waitedStreamsMax) } },
        notice: (answer) => unloadNotice(model, answer),
      },
    };
  },
  traffic: (args) => {
    const model = args.next('MODEL');
    return { calls: { traffic: get('models', model, 'traffic') }, text: trafficOf(model) };
  },
  label: (args, flags) => {
    const [model, label, version] = [args.next('MODEL'), args.next('LABEL'), args.next('VERSION')];
    return trafficChange(model, 'PUT', ['labels', label], { version }, flags, args);
  },
  unlabel: (args, flags) => {
    const [model, label] = [args.next('MODEL'), args.next('LABEL')];
    return trafficChange(model, 'DELETE', ['labels', label], undefined, flags, args);
  },
  split: (args, flags) => {
    const model = args.next('MODEL');
    return trafficChange(model, 'PUT', ['split'], { split: args.shares('WEIGHT', 'weight') }, flags, args);
  },
  unsplit: (args, flags) => trafficChange(args.next('MODEL'), 'PUT', ['split'], { split: [] }, flags, args),
  shadow: (args, flags) => {
    const model = args.next('MODEL');
    return trafficChange(model, 'PUT', ['shadows'], { shadows: args.shares('PERCENT', 'percent') }, flags, args);
  },
  unshadow: (args, flags) => trafficChange(args.next('MODEL'), 'PUT', ['shadows'], { shadows: [] }, flags, args),
  pin: (args) => pinPlan(args, 'PUT', 'is pinned'),
  unpin: (args) => pinPlan(args, 'DELETE', 'is not pinned'),
  instances: () => ({
    calls: { instances: get('instances') },
    text: ({ instances = {} }, paint) => instancesText(instances, paint),
  }),
  'close-breaker': (args) => {
    const worker = args.next('WORKER');
    return done(
      { method: 'POST', path: ['instances', worker, 'breaker', 'close'] },
      `breakers of worker ${worker} are closed`,
    );
  },
  queues: () => ({ calls: { queues: get('queues') }, text: ({ queues = {} }, paint) => queuesText(queues, paint) }),
  'flush-cache': (args) => {
    const model = args.take();
    return {
      calls: { flushed: { method: 'DELETE', path: ['cache', ...(model === undefined ? [] : [model])] } },
      text: ({ flushed }) => `${String(flushed?.results ?? 0)} results removed from the cache\n`,
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
  resource: readonly string[],
  body: JsonValue | undefined,
  flags: FlagValues,
  { problems }: ArgumentReader,
): Plan {
  const written = flags.takeText('if-revision');
  if (written !== undefined && !/^\d{1,15}$/.test(written)) {
    problems.push({ source: '--if-revision', message: `must be a whole number, not "${written}"` });
  }
  const ifRevision = written === undefined ? undefined : Number(written);
  const call = { method, path: ['models', model, ...resource], ifRevision, ...(body === undefined ? {} : { body }) };
  return { calls: { traffic: call }, text: trafficOf(model) };
}

function pinPlan(args: ArgumentReader, method: 'DELETE' | 'PUT', text: string): Plan {
  const [model, version] = [args.next('MODEL'), args.next('VERSION')];
  return done({ method, path: ['models', model, 'versions', version, 'pin'] }, `${model}:${version} ${text}`);
}

/** Milliseconds between two updates; undefined without --watch. */
function watchFrom(flags: FlagValues, problems: ConfigProblem[]): number | undefined {
  const written = flags.takeText('interval');
  if (!flags.isOn('watch')) {
    if (written !== undefined) problems.push({ source: '--interval', message: 'has no effect without --watch' });
    return undefined;
  }
  const seconds = written === undefined ? 1 : takeSeconds(written);
  if (seconds !== undefined && seconds >= 0.1 && seconds <= 3600) return Math.ceil(seconds * 1000);
  problems.push({ source: '--interval', message: `must be seconds from 0.1 to 3600, not "${written}"` });
  return undefined;
}

/** A single answer unchanged; several as members by their names. */
function answersJson(answers: Readonly<Record<string, JsonObject>>): string {
  const all = Object.values(answers);
  const value: JsonObject = all.length === 1 ? (all[0] as JsonObject) : Object.assign({}, ...all);
  return `${stringifyJson(value)}\n`;
}
