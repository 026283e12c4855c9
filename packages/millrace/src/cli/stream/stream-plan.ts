/** What the arguments of `millrace stream` ask for. */
import { randomUUID } from 'node:crypto';
import { ConfigError, type ConfigProblem, type JsonObject } from '@millrace/protocol';
import { jsonObject, namedValues, wholeNumber } from '../flag-readers.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';
import { timeoutMsFrom, urlFrom } from '../server-call.ts';

export interface StreamCommandPlan {
  /** `model`, `model:version` or `model@label`. */
  readonly context: string;
  readonly text: string | undefined;
  /** Values or `@FILE` by input. */
  readonly inputs: ReadonlyMap<string, string>;
  readonly isRealTime: boolean;
  /** Samples a second. */
  readonly rate: number;
  readonly parameters: JsonObject;
  readonly streamId: string;
  readonly isTakenUp: boolean;
  readonly resumeAfter: number;
  readonly url: string;
  /** Without a connection for so long, it gives up. */
  readonly lostMsMax: number;
  readonly isJson: boolean;
}

const defaultLostSeconds = 120;
const streamIdForm = /^[A-Za-z0-9._~-]{1,128}$/;

export function streamCommandPlanFrom({ positionals, flags }: ParsedArguments): StreamCommandPlan {
  const problems: ConfigProblem[] = [];
  const [context = '', text] = positionals;
  const example = 'millrace stream storyteller "Once upon a time"';
  if (context === '') problems.push({ source: 'millrace stream', message: `needs the name of a model: ${example}` });
  const inputs = namedValues(flags, 'input', 'NAME=JSON, NAME=@FILE or NAME=@-', problems);
  if (text !== undefined && inputs.size > 0) {
    problems.push({ source: '--input', message: 'cannot be given with a text: the text is the input' });
  }
  const streamId = flags.takeText('stream-id');
  if (streamId !== undefined && !streamIdForm.test(streamId)) {
    problems.push({ source: '--stream-id', message: `must be 1 to 128 of A-Z a-z 0-9 . _ ~ -, not "${streamId}"` });
  }
  const plan: StreamCommandPlan = {
    context,
    text,
    inputs,
    isRealTime: flags.isOn('real-time'),
    rate: wholeNumber(flags, 'rate', 16_000, 1, problems, 768_000),
    parameters: parametersFrom(flags, problems),
    streamId: streamId ?? randomUUID(),
    isTakenUp: streamId !== undefined,
    resumeAfter: wholeNumber(flags, 'resume-after', 0, 0, problems, Number.MAX_SAFE_INTEGER),
    url: urlFrom(flags, problems),
    lostMsMax: timeoutMsFrom(flags, defaultLostSeconds, problems),
    isJson: flags.isOn('json'),
  };
  const hasFile = [...inputs.values()].some((value) => value.startsWith('@'));
  for (const flag of ['real-time', 'rate']) {
    const isGiven = flags.given().some(({ spec }) => spec.flag === flag);
    if (isGiven && !hasFile)
      problems.push({ source: `--${flag}`, message: 'has no effect without --input NAME=@FILE' });
  }
  if (!plan.isTakenUp && flags.takeText('resume-after') !== undefined) {
    problems.push({ source: '--resume-after', message: 'has no effect without --stream-id' });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return plan;
}

/**
 * `--parameters` and the flags for those of generators, which count more. Flags are checked for their form only: which
 * values it takes the server says, and it takes more or fewer with the model.
 */
function parametersFrom(flags: FlagValues, problems: ConfigProblem[]): JsonObject {
  return {
    ...jsonObject(flags, 'parameters', `'{"seed": 7}'`, problems),
    ...takeParameter(flags, 'seed', 'seed', 'a whole number', seedFrom, problems),
    ...takeParameter(flags, 'max-tokens', 'max_tokens', 'a whole number', wholeNumberFrom, problems),
    ...takeParameter(flags, 'temperature', 'temperature', 'a number', numberFrom, problems),
  };
}

function takeParameter(
  flags: FlagValues,
  flag: string,
  name: string,
  form: string,
  read: (written: string) => number | string | undefined,
  problems: ConfigProblem[],
): JsonObject {
  const written = flags.takeText(flag);
  if (written === undefined) return {};
  const value = read(written);
  if (value !== undefined) return { [name]: value };
  problems.push({ source: `--${flag}`, message: `must be ${form}, not "${written}"` });
  return {};
}

/** Seeds have 64 bits; those that a number of JSON does not hold exactly are sent as digits. */
function seedFrom(written: string): number | string | undefined {
  return wholeNumberFrom(written) ?? (/^\d+$/.test(written) ? written : undefined);
}

function wholeNumberFrom(written: string): number | undefined {
  const number = /^\d+$/.test(written) ? Number(written) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function numberFrom(written: string): number | undefined {
  const number = written.trim() === '' ? Number.NaN : Number(written);
  return Number.isFinite(number) ? number : undefined;
}
