/** `millrace models`: what a server would serve from these paths and why not the rest; nothing is loaded. */
import path from 'node:path';
import { ConfigError } from '@millrace/protocol';
import { exitCodes } from '../exit-codes.ts';
import { pathProblem } from '../load-config.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandContext } from '../run-command.ts';
import { paintOf, terminalOf } from '../terminal.ts';
import { scanJson, scanText } from './scan-text.ts';

export async function listModels(parsed: ParsedArguments, context: CommandContext): Promise<number> {
  const source = 'millrace models';
  const paths = parsed.positionals.map((written) => path.resolve(context.cwd, written));
  if (paths.length === 0) throw new ConfigError([{ source, message: 'needs a path: millrace models ./models' }]);
  const problems = paths.flatMap((one) => pathProblem(one) ?? []).map((message) => ({ source, message }));
  if (problems.length > 0) throw new ConfigError(problems);

  // Reading model files needs the router; the other commands start quicker without it.
  const { scanRepository } = await import('@millrace/router');
  const { findGpuSupport } = await import('@millrace/worker/gpu-support');
  const scan = await scanRepository(paths, { gpu: findGpuSupport(Number.POSITIVE_INFINITY) });
  const paint = paintOf(terminalOf(context.stdout, context.environment));
  context.stdout.write(parsed.flags.isOn('json') ? scanJson(scan) : scanText(scan, paint));
  const isAllServed = scan.models.length > 0 && scan.failures.length === 0 && scan.problems.length === 0;
  return isAllServed ? exitCodes.ok : exitCodes.failure;
}
