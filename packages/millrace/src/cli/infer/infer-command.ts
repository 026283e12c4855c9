/** `millrace infer`: one request to a running server, its answer on the screen. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  ConfigError,
  type ConfigProblem,
  type JsonObject,
  messageFromFileError,
  type TensorSpec,
} from '@millrace/protocol';
import { paintOf, terminalOf } from '../../terminal.ts';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import { jsonObject, namedValues, wholeNumber } from '../flag-readers.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { timeoutMsFrom, urlFrom } from '../server-call.ts';
import { buildInputs, type WantedInputs } from './build-inputs.ts';
import { decodeInferAnswer, encodeInferRequest } from './infer-messages.ts';
import { type EncodedRequest, InferenceClient } from './inference-client.ts';
import { answerJson, answerText } from './print-answer.ts';

const defaultTimeoutSeconds = 60;

interface InferPlan {
  readonly model: string;
  readonly version: string | undefined;
  readonly url: string;
  readonly timeoutMs: number;
  readonly deadlineMs: number | undefined;
  readonly dataFile: string | undefined;
  readonly inputs: Omit<WantedInputs, 'files' | 'optional'>;
  /** Paths by input. */
  readonly files: ReadonlyMap<string, string>;
  readonly parameters: JsonObject;
  readonly isBinary: boolean;
  readonly isJson: boolean;
}

export async function runInferCommand(parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const plan = planFrom(parsed);
  const client = new InferenceClient({ url: plan.url, fetch: parts.fetch, timeoutMs: plan.timeoutMs });
  const request = await requestFrom(plan, client, parts);
  const startedAt = parts.now();
  const raw = await client.infer(plan.model, plan.version, request, plan.deadlineMs);
  const durationMs = parts.now() - startedAt;
  const answer = decodeInferAnswer(raw);
  const paint = paintOf(terminalOf(parts.stdout, parts.environment));
  parts.stdout.write(plan.isJson ? answerJson(answer) : answerText(answer, durationMs, paint));
  return exitCodes.ok;
}

async function requestFrom(
  plan: InferPlan,
  client: InferenceClient,
  parts: CommandEnvironment,
): Promise<EncodedRequest> {
  if (plan.dataFile !== undefined) return { body: await readData(plan.dataFile, parts), jsonBytes: undefined };
  const { inputs } = await client.metadata(plan.model, plan.version);
  const files = new Map(
    [...plan.files].map(([name, file]) => [name, { path: file, bytes: readFile(file, parts.cwd) }]),
  );
  // Servers take 16-bit floats as bytes only, and files are mostly not text.
  const isBinary =
    plan.isBinary || files.size > 0 || inputs.some(({ datatype }) => datatype === 'FP16' || datatype === 'BF16');
  const isGiven = ({ name }: TensorSpec): boolean => plan.inputs.values.has(name) || files.has(name);
  // An input that is left out is either optional, or the command fails.
  const optional = inputs.every(isGiven) ? new Set<string>() : await client.optionalInputs(plan.model, plan.version);
  return encodeInferRequest(buildInputs(inputs, { ...plan.inputs, files, optional }), isBinary, plan.parameters);
}

async function readData(file: string, parts: CommandEnvironment): Promise<Uint8Array> {
  if (file !== '-') return readFile(file, parts.cwd);
  const chunks: Uint8Array[] = [];
  for await (const chunk of parts.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function readFile(file: string, cwd: string): Uint8Array {
  try {
    return readFileSync(path.resolve(cwd, file));
  } catch (error) {
    throw new CommandFailure(`${file} ${messageFromFileError(error)}`);
  }
}

function planFrom({ positionals, flags }: ParsedArguments): InferPlan {
  const problems: ConfigProblem[] = [];
  const model = positionals[0] ?? '';
  if (model === '')
    problems.push({ source: 'millrace infer', message: 'needs the name of a model: millrace infer mlp --random' });
  const given = namedValues(flags, 'input', 'NAME=JSON or NAME=@FILE', problems);
  const files = new Map([...given].flatMap(([name, text]) => (text.startsWith('@') ? [[name, text.slice(1)]] : [])));
  const plan: InferPlan = {
    model,
    version: flags.takeText('model-version'),
    url: urlFrom(flags, problems),
    timeoutMs: timeoutMsFrom(flags, defaultTimeoutSeconds, problems),
    deadlineMs:
      flags.takeText('deadline-ms') === undefined ? undefined : wholeNumber(flags, 'deadline-ms', 1, 1, problems),
    dataFile: flags.takeText('data'),
    inputs: {
      values: new Map([...given].filter(([name]) => !files.has(name))),
      shapes: shapesFrom(flags, problems),
      random: flags.isOn('random')
        ? { seed: wholeNumber(flags, 'seed', 1, 0, problems), rows: wholeNumber(flags, 'rows', 1, 1, problems) }
        : undefined,
    },
    files,
    parameters: jsonObject(flags, 'parameters', `'{"max_tokens": 64}'`, problems),
    isBinary: flags.isOn('binary'),
    isJson: flags.isOn('json'),
  };
  const hasParts = given.size > 0 || plan.inputs.random !== undefined || flags.takeText('parameters') !== undefined;
  if (plan.dataFile !== undefined && (hasParts || plan.isBinary)) {
    problems.push({
      source: '--data',
      message: 'is a complete request; remove --input, --parameters, --random and --binary',
    });
  }
  if (plan.inputs.random === undefined) {
    for (const flag of ['seed', 'rows']) {
      if (flags.takeText(flag) !== undefined)
        problems.push({ source: `--${flag}`, message: 'has no effect without --random' });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return plan;
}

function shapesFrom(flags: FlagValues, problems: ConfigProblem[]): Map<string, readonly number[]> {
  const shapes = new Map<string, readonly number[]>();
  for (const [name, text] of namedValues(flags, 'shape', 'NAME=N,N', problems)) {
    if (/^\d{1,10}(,\d{1,10})*$/.test(text)) shapes.set(name, text.split(',').map(Number));
    else problems.push({ source: '--shape', message: `must be NAME=N,N, like x=1,3,224,224, not "${name}=${text}"` });
  }
  return shapes;
}
