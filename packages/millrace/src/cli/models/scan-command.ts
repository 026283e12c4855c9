/** `millrace models scan`, or `millrace models PATH…`: which models a server would serve from these paths, and why not the others; nothing is loaded without `--load`. */
import path from 'node:path';
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import { didYouMean } from '../../config/suggest.ts';
import { paintOf, terminalOf } from '../../terminal.ts';
import { modelsCommand, subcommandsOf } from '../command-table.ts';
import { exitCodes } from '../exit-codes.ts';
import { pathProblem } from '../load-config.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { explainText } from './explain-text.ts';
import { scanAfterLoads } from './load-scan.ts';
import { scanJson, scanText } from './scan-text.ts';

export async function scanModels(parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const source = 'millrace models';
  const paths = parsed.positionals.map((written) => path.resolve(parts.cwd, written));
  if (paths.length === 0) {
    const message = 'needs a path or a command: millrace models ./models, or millrace models list';
    throw new ConfigError([{ source, message }]);
  }
  const problems = paths.flatMap((one) => pathProblem(one) ?? []).map((message) => ({ source, message }));
  if (problems.length > 0)
    throw new ConfigError([...problems, ...mistakenCommand(parsed.positionals[0] ?? '', source)]);

  // Reading model files needs the router; the other commands start quicker without it.
  const { scanRepository } = await import('@millrace/router/internal');
  const { gpuSupportFrom } = await import('../../model-defaults.ts');
  const { pipelineDescriber } = await import('../../pipelines.ts');
  const gpu = gpuSupportFrom({ worker: { gpusMax: 'auto' } });
  const isLoaded = parsed.flags.isOn('load');
  const read = await scanRepository(paths, { gpu, describePipeline: pipelineDescriber() });
  const isLoadable = read.models.length > 0 && read.problems.length === 0;
  const scan = isLoaded && isLoadable ? scanAfterLoads(read, await parts.loadModels(paths)) : read;
  const paint = paintOf(terminalOf(parts.stdout, parts.environment));
  parts.stdout.write(parsed.flags.isOn('json') ? scanJson(scan) : scanText(scan, paint, isLoaded));
  if (parsed.flags.isOn('explain') && !parsed.flags.isOn('json')) parts.stdout.write(explainText(scan, paint));
  const isAllServed = scan.models.length > 0 && scan.failures.length === 0 && scan.problems.length === 0;
  return isAllServed ? exitCodes.ok : exitCodes.failure;
}

/** An argument that is neither a path nor a command may be a misspelt command. */
function mistakenCommand(argument: string, source: string): readonly ConfigProblem[] {
  const near = didYouMean(argument, subcommandsOf(modelsCommand).keys(), (name) => `millrace models ${name}`);
  return near === '' ? [] : [{ source, message: `${argument} is not a command of it either.${near}` }];
}
