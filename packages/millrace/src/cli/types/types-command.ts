/** `millrace types`: the models of a running server as TypeScript, for `@millrace/client`. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import { InferenceClient } from '../infer/inference-client.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { timeoutMsFrom, webUrlFrom } from '../server-call.ts';
import { type ModelTensors, modelTypesText } from './model-types-text.ts';

const defaultTimeoutSeconds = 60;

export async function printTypes({ flags, positionals }: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const problems: ConfigProblem[] = [];
  const url = webUrlFrom(positionals[0], 'millrace types', problems);
  const timeoutMs = timeoutMsFrom(flags, defaultTimeoutSeconds, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  const client = new InferenceClient({ url, fetch: parts.fetch, timeoutMs });
  const chosen = flags.allTexts('model');
  const names = chosen.length > 0 ? chosen : await client.readyModels();
  if (names.length === 0) throw new CommandFailure(`${url} serves no model that is ready`);
  const models: ModelTensors[] = [];
  for (const name of names) models.push(await client.tensorsOf(name));
  parts.stdout.write(modelTypesText(models));
  return exitCodes.ok;
}
